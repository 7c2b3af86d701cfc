import type { Fragment } from 'postgres';
import type { Sql } from './client.ts';

/**
 * Makes a query that becomes part of the statement of a change, such as the record that a proposal is carried out.
 * An error of the query undoes the change, so neither happens without the other.
 *
 * @param changed the WITH query that has a row if the change is made
 */
export type Alongside = (sql: Sql, changed: string) => Fragment;

/** The WITH query `alongside`, after the others of the statement. */
export const alongsideQuery = (sql: Sql, alongside: Alongside | undefined, changed: string) =>
  alongside ? sql`, alongside AS (${alongside(sql, changed)})` : sql``;

/** The end of the statement's FROM. A query that is not read does not run. */
export const andAlongside = (sql: Sql, alongside: Alongside | undefined) =>
  alongside ? sql`LEFT JOIN alongside ON true` : sql``;
