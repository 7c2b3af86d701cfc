import { ulid } from 'ulid';
import type { Sql } from '../../db/client.ts';
import { alongsideQuery, andAlongside } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { SealedMail } from '../../mail/public.ts';
import { mailRow, prepareMail } from '../../mail/public.ts';
import { invitationMail } from '../mails.ts';
import type { MailedAdminDeps, UserAdminDeps } from './operators.ts';
import type { OperatorRole } from './permissions.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import { emailKeyOf, isEmailAddress } from './users.ts';

const INVITATION_VALID_FOR = '24 hours';

export interface Invitation {
  userId: string;
  email: string;
  /** The link that sets the password. */
  link: string;
}

export interface InvitedOperator extends Omit<Invitation, 'link'> {
  /** It is returned while no admin has ever confirmed a second factor; later it is mailed, and this is null. */
  link: string | null;
  /** The mail with the link. The caller may start its workflow; otherwise the sweep does. */
  mail: SealedMail | null;
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
  if (!isEmailAddress(email)) {
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
      SELECT FROM invited WHERE EXISTS (SELECT FROM shared.confirmed_admins)
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
      SELECT merchant_id, lower(email) AS email FROM shared.merchants WHERE merchant_id = ${merchantId}
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
