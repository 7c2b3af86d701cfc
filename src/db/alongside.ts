import type { Fragment } from 'postgres';
import type { Sql } from './client.ts';

/**
 * Makes a query that belongs to the statement of a change, such as the record that a proposal is carried out: neither
 * happens without the other, because an error of the query undoes the change.
 *
 * @param changed the WITH query that has a row if the change is made
 */
export type Alongside = (sql: Sql, changed: string) => Fragment;

/** The WITH query `alongside`, behind the others of the statement. */
export const alongsideQuery = (sql: Sql, alongside: Alongside | undefined, changed: string) =>
  alongside ? sql`, alongside AS (${alongside(sql, changed)})` : sql``;

/** The end of the statement's FROM: the query must be read, or it does not run. */
export const andAlongside = (sql: Sql, alongside: Alongside | undefined) =>
  alongside ? sql`, alongside` : sql``;
