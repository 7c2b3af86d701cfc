import type { Actor } from '../../db/actor.ts';
import type { Alongside, Sql } from '../../db/client.ts';
import { alongsideQuery, andAlongside } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { MailDeps, SealedMail } from '../../mail/public.ts';
import { mailRow, prepareMail } from '../../mail/public.ts';
import { noticeMail } from '../mails.ts';
import type { OperatorRole } from './permissions.ts';
import { withoutTwoFactor } from '../two-factor/two-factor.ts';
import { emailKeyOf, findUserByEmail } from './users.ts';

/** Dependencies of changes to users by an operator. `actor` is the name in the audit log. */
export interface UserAdminDeps {
  sql: Sql;
  publicBaseUrl: string;
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** Dependencies of changes whose statement also writes a mail. */
export interface MailedAdminDeps extends UserAdminDeps, Pick<MailDeps, 'mailBox'> {}

export interface ListedOperator {
  userId: string;
  email: string;
  role: OperatorRole;
  /** INVITED until the password is set, then WITHOUT_TWO_FACTOR until a code is confirmed. */
  state: 'INVITED' | 'WITHOUT_TWO_FACTOR' | 'ACTIVE' | 'DISABLED';
  createdAt: Date;
  /** Rounded to the minute; null if the operator has no session. */
  lastSeenAt: Date | null;
}

export async function listOperators({
  sql,
}: Pick<UserAdminDeps, 'sql'>): Promise<ListedOperator[]> {
  return sql<ListedOperator[]>`
    SELECT user_id, email, operator_role AS role, created_at,
      CASE WHEN disabled_at IS NOT NULL THEN 'DISABLED' WHEN password_hash IS NULL THEN 'INVITED'
        WHEN totp_confirmed_at IS NULL THEN 'WITHOUT_TWO_FACTOR' ELSE 'ACTIVE' END AS state,
      (SELECT max(last_seen_at) FROM dashboard_sessions s WHERE s.user_id = u.user_id) AS last_seen_at
    FROM users u WHERE operator_role IS NOT NULL ORDER BY email`;
}

/** Changes an operator's role; it takes effect with the next request. @throws DomainError NOT_FOUND */
export async function changeOperatorRole(
  { sql, actor, alongside }: UserAdminDeps,
  email: string,
  role: OperatorRole,
): Promise<void> {
  const changed = await sql`
    WITH changed AS (
      UPDATE users SET operator_role = ${role}
      WHERE email = ${emailKeyOf(email)} AND operator_role IS NOT NULL AND disabled_at IS NULL
      RETURNING user_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, subject, details)
      SELECT ${actor.name}, ${actor.address}, 'operator.role', user_id,
        ${sql.json({ email: emailKeyOf(email), role })}
      FROM changed
    ) ${alongsideQuery(sql, alongside, 'changed')}
    SELECT FROM changed ${andAlongside(sql, alongside)}`;
  if (changed.length === 0) throw noActive('operator', email);
}

/** Ends an operator's sessions and refuses further logins. @throws DomainError NOT_FOUND */
export async function disableOperator(
  { sql, actor, alongside }: UserAdminDeps,
  email: string,
): Promise<void> {
  const changed = await sql`
    WITH changed AS (
      UPDATE users SET disabled_at = service_now()
      WHERE email = ${emailKeyOf(email)} AND operator_role IS NOT NULL AND disabled_at IS NULL
      RETURNING *
    ), sessions AS (
      DELETE FROM dashboard_sessions s USING changed WHERE s.user_id = changed.user_id
    ), logins AS (
      DELETE FROM pending_logins p USING changed WHERE p.user_id = changed.user_id
    ), links AS (
      DELETE FROM one_time_links l USING changed WHERE l.user_id = changed.user_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, subject, details)
      SELECT ${actor.name}, ${actor.address}, 'operator.disable', user_id,
        jsonb_build_object('email', email)
      FROM changed
    ) ${alongsideQuery(sql, alongside, 'changed')}
    SELECT FROM changed ${andAlongside(sql, alongside)}`;
  if (changed.length === 0) throw noActive('operator', email);
}

/**
 * Removes the two-factor secret and the recovery codes of a user who has lost the device, and ends the user's
 * sessions. An operator has to set two-factor up again before anything else.
 *
 * @returns the mail that reports it; the caller may start its workflow
 * @throws DomainError NOT_FOUND
 */
export async function resetTwoFactor(deps: MailedAdminDeps, typed: string): Promise<SealedMail> {
  const { sql, actor, alongside } = deps;
  const email = emailKeyOf(typed);
  const user = await findUserByEmail(sql, email);
  if (!user) throw noActive('user', email);
  const mail = prepareMail(deps, noticeMail(deps, email, 'two_factor.reset'));
  const reset = await sql`
    WITH ${withoutTwoFactor(sql, user.userId)}, sessions AS (
      DELETE FROM dashboard_sessions s USING changed WHERE s.user_id = changed.user_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${actor.name}, ${actor.address}, 'two_factor.reset', merchant_id, user_id,
        jsonb_build_object('email', email)
      FROM changed
    ), mailed AS (${mailRow(sql, mail, 'changed')}) ${alongsideQuery(sql, alongside, 'changed')}
    SELECT FROM changed ${andAlongside(sql, alongside)}`;
  if (reset.length === 0) throw noActive('user', email);
  return mail;
}

const noActive = (who: 'operator' | 'user', email: string) =>
  new DomainError('NOT_FOUND', `There is no active ${who} ${email}`);

/** Which kind of user has an e-mail address. */
export interface OperatorState {
  state: 'NONE' | 'MERCHANT' | ListedOperator['state'];
  role: OperatorRole | null;
}

export async function readOperatorState(sql: Sql, email: string): Promise<OperatorState> {
  const key = emailKeyOf(email);
  const known = (await listOperators({ sql })).find((one) => one.email === key);
  if (known) return { state: known.state, role: known.role };
  const user = await findUserByEmail(sql, key);
  return { state: user ? 'MERCHANT' : 'NONE', role: null };
}

/** The addresses of the active operators with one of these roles. */
export async function listActiveOperators(
  sql: Sql,
  roles: readonly OperatorRole[],
): Promise<{ userId: string; email: string }[]> {
  return sql<{ userId: string; email: string }[]>`
    SELECT user_id, email FROM users
    WHERE operator_role::text = ANY (${[...roles]}) AND disabled_at IS NULL
      AND totp_confirmed_at IS NOT NULL
    ORDER BY email`;
}

/** The addresses that are warned when one operator acts alone: all operators, and those disabled within 30 days. */
export async function listWarnedOperators(sql: Sql): Promise<string[]> {
  const rows = await sql<{ email: string }[]>`
    SELECT email FROM users WHERE operator_role IS NOT NULL
      AND (disabled_at IS NULL OR disabled_at > service_now() - interval '30 days')
    ORDER BY email`;
  return rows.map(({ email }) => email);
}
