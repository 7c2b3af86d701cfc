import type postgres from 'postgres';
import type { Actor } from '../db/actor.ts';
import type { Alongside, Sql } from '../db/client.ts';
import { alongsideQuery, andAlongside } from '../db/client.ts';
import { DomainError } from '../domain/index.ts';
import type { SecretBox } from '../secret-box.ts';
import type { Application } from './application.ts';
import { assertEditable } from './application.ts';
import { readApplication } from './queries.ts';

/** What changes of an application need. `actor` is recorded by the statement that makes the change. */
export interface OnboardingDeps {
  sql: Sql;
  /** Seals documents and bank account numbers: DATA_ENCRYPTION_KEYS. */
  dataBox: SecretBox;
  actor: Actor;
  /** Of the statement of the change. */
  alongside?: Alongside | undefined;
}

/** One change of an application. */
interface Edit {
  /** An INSERT or DELETE that reads `edited`, one row with the merchant's id, and returns a row. */
  write: postgres.PendingQuery<postgres.Row[]>;
  action: `application.${string}`;
  subject?: string;
  details: Record<string, string | number | boolean>;
  /** Refuses the edit when there were others since the application was read. */
  isExclusive?: boolean;
}

/**
 * Makes one change of an application, unless it was submitted or decided since it was read. The
 * merchant's row stays locked until the statement ends, so a submission or a decision comes before or
 * after the whole edit.
 *
 * @param application as {@link readEditable} returned it
 * @returns whether the change was made
 */
export async function applyEdit(
  { sql, actor, alongside }: OnboardingDeps,
  { merchantId, status, submissions, edits }: Application,
  { write, action, subject, details, isExclusive = false }: Edit,
): Promise<boolean> {
  const written = await sql`
    WITH edited AS (
      UPDATE merchants SET application_edits = application_edits + 1
      WHERE merchant_id = ${merchantId} AND status = ${status} AND submissions = ${submissions}
        ${isExclusive ? sql`AND application_edits = ${edits}` : sql``}
      RETURNING merchant_id
    ),
    written AS (${write}),
    audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${actor.name}, ${actor.address}, ${action}, ${merchantId}, ${subject ?? null},
        ${sql.json(details)}
      FROM written
    ) ${alongsideQuery(sql, alongside, 'written')}
    SELECT FROM written ${andAlongside(sql, alongside)}`;
  return written.length > 0;
}

/**
 * Reads an application to edit it.
 *
 * @throws DomainError `INVALID_STATE` when it may not be edited, `NOT_FOUND`
 */
export async function readEditable(sql: Sql, merchantId: string): Promise<Application> {
  const application = await readApplication(sql, merchantId);
  assertEditable(application);
  return application;
}

/** The refusal of an edit that was not made. */
export async function refuseEdit(sql: Sql, merchantId: string): Promise<never> {
  await readEditable(sql, merchantId);
  throw new DomainError('INVALID_STATE', CHANGED_MEANWHILE);
}

/** Something else changed the application at the same moment. */
export const CHANGED_MEANWHILE =
  'The application has changed since you opened this page; check it and try again';
