import { ulid } from 'ulid';
import { z } from 'zod';
import type { Actor } from '../../db/actor.ts';
import type { Alongside } from '../../db/alongside.ts';
import { alongsideQuery, andAlongside } from '../../db/alongside.ts';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { MailDeps, SealedMail } from '../../mail/public.ts';
import { mailRow, prepareMail } from '../../mail/public.ts';
import { invitationMail, noticeMail } from '../mails.ts';
import type { OperatorRole } from './permissions.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import { withoutTwoFactor } from '../two-factor/two-factor.ts';
import { emailKeyOf, findUserByEmail } from './users.ts';

const INVITATION_VALID_FOR = '24 hours';

/** Dependencies of changes to users by an operator. `actor` is the name in the audit log. */
export interface UserAdminDeps {
  sql: Sql;
  publicBaseUrl: string;
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** Dependencies of changes whose statement also writes a mail. */
export interface MailedAdminDeps extends UserAdminDeps, Pick<MailDeps, 'mailBox'> {}

export interface InvitedOperator {
  userId: string;
  email: string;
  /**
   * The link that sets the password. It is returned while no admin has ever confirmed a second factor; later it is
   * mailed, and this is null.
   */
  link: string | null;
  /** The mail with the link. The caller may start its workflow; otherwise the sweep does. */
  mail: SealedMail | null;
}

export interface Invitation {
  userId: string;
  email: string;
  link: string;
}

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

const linkOf = ({ publicBaseUrl }: UserAdminDeps, token: string) =>
  `${publicBaseUrl}/dashboard/invitation/${token}`;

/** Replaces the links of the user in `invited` by a new invitation. */
const inviting = (sql: Sql, token: string) => sql`
  old_links AS (
    DELETE FROM one_time_links l USING invited WHERE l.user_id = invited.user_id
  ), link AS (
    INSERT INTO one_time_links (token_hash, user_id, purpose, expires_at)
    SELECT ${hashOfToken(token)}, user_id, 'invitation',
      service_now() + ${INVITATION_VALID_FOR}::interval
    FROM invited
  )`;

/**
 * Invites an operator by a mail. While no admin has ever confirmed a second factor, the link is returned instead,
 * because the first operator may be made before the service can send mails.
 *
 * An operator who has not accepted an invitation yet, or is disabled, is invited again. A disabled operator keeps
 * the id and the audit log's rows; password, second factor and sessions are new.
 *
 * @throws DomainError BAD_REQUEST for an invalid address, INVALID_STATE when a user has it
 */
export async function createOperator(
  deps: MailedAdminDeps,
  { email: typed, role }: { email: string; role: OperatorRole },
): Promise<InvitedOperator> {
  const { sql, actor, alongside } = deps;
  const email = emailKeyOf(typed);
  if (!z.email().max(254).safeParse(email).success) {
    throw new DomainError('BAD_REQUEST', 'email must be a valid email address');
  }
  const token = newToken();
  const link = linkOf(deps, token);
  const mail = prepareMail(deps, invitationMail(email, link));
  const [invited] = await sql<{ userId: string; isMailed: boolean }[]>`
    WITH before AS (
      SELECT user_id FROM users WHERE email = ${email} AND disabled_at IS NOT NULL
    ), invited AS (
      INSERT INTO users AS u (user_id, email, operator_role)
      VALUES (${`usr_${ulid()}`}, ${email}, ${role})
      ON CONFLICT (email) DO UPDATE SET operator_role = excluded.operator_role, disabled_at = NULL,
        password_hash = NULL, totp_secret_sealed = NULL, totp_confirmed_at = NULL,
        totp_last_step = NULL
      WHERE u.operator_role IS NOT NULL
        AND (u.disabled_at IS NOT NULL OR u.password_hash IS NULL)
      RETURNING user_id
    ), ${inviting(sql, token)}, codes AS (
      DELETE FROM recovery_codes c USING invited WHERE c.user_id = invited.user_id
    ), sessions AS (
      DELETE FROM dashboard_sessions s USING invited WHERE s.user_id = invited.user_id
    ), logins AS (
      DELETE FROM pending_logins p USING invited WHERE p.user_id = invited.user_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, subject, details)
      SELECT ${actor.name}, ${actor.address},
        CASE WHEN EXISTS (SELECT FROM before) THEN 'operator.reactivate' ELSE 'operator.create' END,
        user_id, ${sql.json({ email, role })}
      FROM invited
    ), to_mail AS (
      SELECT FROM invited WHERE EXISTS (SELECT FROM confirmed_admins)
    ), mailed AS (${mailRow(sql, mail, 'to_mail')}) ${alongsideQuery(sql, alongside, 'invited')}
    SELECT user_id, EXISTS (SELECT FROM to_mail) AS is_mailed
    FROM invited ${andAlongside(sql, alongside)}`;
  if (invited) {
    const { userId, isMailed } = invited;
    return { userId, email, ...(isMailed ? { link: null, mail } : { link, mail: null }) };
  }
  throw new DomainError('INVALID_STATE', `There is a user with the e-mail address ${email}`);
}

/**
 * Invites the user of a merchant that was registered without one, under the merchant's e-mail address. It replaces
 * an invitation that was not accepted.
 *
 * @throws DomainError NOT_FOUND, INVALID_STATE when the merchant has a user or another user has the address
 */
export async function inviteMerchant(deps: UserAdminDeps, merchantId: string): Promise<Invitation> {
  const { sql, actor } = deps;
  const token = newToken();
  const [row] = await sql<{ email: string; userId: string | null }[]>`
    WITH merchant AS (
      SELECT merchant_id, lower(email) AS email FROM merchants WHERE merchant_id = ${merchantId}
    ), invited AS (
      INSERT INTO users AS u (user_id, email, merchant_id)
      SELECT ${`usr_${ulid()}`}, email, merchant_id FROM merchant
      ON CONFLICT (email) DO UPDATE SET email = excluded.email
      WHERE u.merchant_id = excluded.merchant_id AND u.password_hash IS NULL
      RETURNING user_id, merchant_id
    ), ${inviting(sql, token)}, audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT ${actor.name}, ${actor.address}, 'merchant.invite', merchant_id, user_id FROM invited
    )
    SELECT m.email, invited.user_id FROM merchant m LEFT JOIN invited USING (merchant_id)`;
  if (!row) throw new DomainError('NOT_FOUND', `Merchant not found: ${merchantId}`);
  const { email, userId } = row;
  if (userId !== null) return { userId, email, link: linkOf(deps, token) };
  const message = `There is a user with the e-mail address ${email}, who can log in or set a new password`;
  throw new DomainError('INVALID_STATE', message);
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

function operatorNotFound(email: string): never {
  throw new DomainError('NOT_FOUND', `There is no active operator ${email}`);
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
  if (changed.length === 0) operatorNotFound(email);
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
  if (changed.length === 0) operatorNotFound(email);
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
  if (!user) throw userNotFound(email);
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
  if (reset.length === 0) throw userNotFound(email);
  return mail;
}

const userNotFound = (email: string) =>
  new DomainError('NOT_FOUND', `There is no active user ${email}`);

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
