import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import {
  admitAttempt,
  admitMail,
  forgetAllAttempts,
  linkLimits,
  mailLimits,
} from '../log-in/attempts.ts';
import type { AccountDeps, Client } from '../context.ts';
import { noAccountMail, noticeMail, resetMail } from '../mails.ts';
import { hashPassword } from '../passwords/passwords.ts';
import { createSession } from '../log-in/sessions.ts';
import { assertNewPassword, endingAccess } from '../passwords/set-password.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import { auditNameOf, parseAddress } from './users.ts';

export type LinkPurpose = 'reset_password' | 'invitation';

const RESET_VALID_FOR = '30 minutes';

export interface OpenLink {
  email: string;
  /** Null for an operator. */
  merchantName: string | null;
}

interface LinkRow extends OpenLink {
  userId: string;
}

/**
 * Sends a link that sets a new password. An address without an account gets another mail; answer and work are the
 * same, so that they do not show which addresses have accounts.
 *
 * @throws ValidationError for a text that is no address
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function requestReset(
  deps: AccountDeps,
  typed: string,
  client: Client,
): Promise<void> {
  const { sql } = deps;
  const email = parseAddress(typed);
  await admitAttempt(sql, linkLimits(client.address));
  const token = newToken();
  const [row] = await sql<[{ hasAccount: boolean }]>`
    WITH given AS (
      SELECT u.user_id, u.merchant_id FROM (SELECT) AS one
      LEFT JOIN users u ON u.email = ${email} AND u.disabled_at IS NULL
    ), expired AS (
      DELETE FROM one_time_links WHERE expires_at <= (SELECT service_now())
    ), created AS (
      INSERT INTO one_time_links (token_hash, user_id, purpose, expires_at)
      SELECT ${hashOfToken(token)}, user_id, 'reset_password',
        service_now() + ${RESET_VALID_FOR}::interval
      FROM given
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT 'anonymous', ${client.address}, 'password.request_reset', merchant_id, user_id FROM given
    )
    SELECT user_id IS NOT NULL AS has_account FROM given`;
  const mail = row.hasAccount ? resetMail(deps, email, token) : noAccountMail(deps, email);
  if (await admitMail(sql, mailLimits('reset', email, client.address))) await deps.sendMail(mail);
}

/** Finds the user of a link. @throws DomainError NOT_FOUND */
async function requireLink(sql: Sql, token: string, purpose: LinkPurpose): Promise<LinkRow> {
  const [link] = await sql<LinkRow[]>`
    SELECT u.user_id, u.email, m.name AS merchant_name
    FROM one_time_links l JOIN users u USING (user_id) LEFT JOIN shared.merchants m USING (merchant_id)
    WHERE l.token_hash = ${hashOfToken(token)} AND l.purpose = ${purpose}
      AND l.expires_at > service_now() AND u.disabled_at IS NULL`;
  return link ?? refuseLink();
}

function refuseLink(): never {
  throw new DomainError('NOT_FOUND', 'This link has expired or was already used');
}

/**
 * Finds whom an open link is for. It does not use the link up, because mail scanners open links.
 *
 * @throws DomainError NOT_FOUND
 */
export async function findLink(
  { sql }: AccountDeps,
  token: string,
  purpose: LinkPurpose,
): Promise<OpenLink> {
  const { email, merchantName } = await requireLink(sql, token, purpose);
  return { email, merchantName };
}

/** Sets a password and uses the link up, in one statement. @throws DomainError NOT_FOUND */
async function setPasswordByLink(
  { sql }: AccountDeps,
  { token, purpose, newPassword }: { token: string; purpose: LinkPurpose; newPassword: string },
  { address }: Client,
): Promise<LinkRow> {
  await admitAttempt(sql, linkLimits(address));
  const link = await requireLink(sql, token, purpose);
  assertNewPassword(newPassword, [link.email, link.merchantName]);
  const passwordHash = await hashPassword(newPassword);
  const action = purpose === 'invitation' ? 'invitation.accept' : 'password.reset';
  const used = await sql`
    WITH given AS (
      SELECT user_id FROM one_time_links
      WHERE token_hash = ${hashOfToken(token)} AND purpose = ${purpose}
        AND expires_at > service_now()
    ), ended AS (
      -- The user's other links are deleted, too. Concurrent uses lock them in the same order, so one waits and finds
      -- none.
      DELETE FROM one_time_links l USING given WHERE l.user_id = given.user_id
      RETURNING l.token_hash, l.user_id
    ), used AS (
      SELECT user_id FROM ended WHERE token_hash = ${hashOfToken(token)}
    ), changed AS (
      UPDATE users u SET password_hash = ${passwordHash} FROM used
      WHERE u.user_id = used.user_id AND u.disabled_at IS NULL
      RETURNING u.*
    ), ${endingAccess(sql)}, audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject)
      SELECT ${auditNameOf(sql)}, ${address}, ${action}, u.merchant_id, u.user_id FROM changed u
    )
    SELECT FROM changed`;
  if (used.length === 0) return refuseLink();
  await forgetAllAttempts(sql, link);
  return link;
}

/**
 * Sets a new password by the link of a mail. All sessions end. The user logs in afterwards, with the
 * two-factor code if it is set up.
 *
 * @throws DomainError NOT_FOUND
 * @throws ValidationError for a password that is easy to guess
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function resetPassword(
  deps: AccountDeps,
  token: string,
  newPassword: string,
  client: Client,
): Promise<void> {
  const given = { token, purpose: 'reset_password', newPassword } as const;
  const { email } = await setPasswordByLink(deps, given, client);
  await deps.sendMail(noticeMail(deps, email, 'password.reset'));
}

/**
 * Accepts an invitation by setting the first password, and signs the user in.
 *
 * @returns the token for the session's cookie
 * @throws DomainError NOT_FOUND
 * @throws ValidationError for a password that is easy to guess
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function acceptInvitation(
  deps: AccountDeps,
  token: string,
  newPassword: string,
  client: Client,
): Promise<string> {
  const given = { token, purpose: 'invitation', newPassword } as const;
  const { userId } = await setPasswordByLink(deps, given, client);
  return createSession(deps, userId, client, { hasPassword: true });
}
