import { ulid } from 'ulid';
import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import type { MerchantStatus } from '../../merchants/public.ts';
import type { Client } from '../context.ts';
import type { OperatorRole } from '../people/permissions.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import { auditNameOf } from '../people/users.ts';

/**
 * Holds the token of a session. With this prefix, browsers accept it only from this host, with Secure, and for every
 * path.
 */
export const SESSION_COOKIE = '__Host-session';

/** When a session ends: after this time without a request, and after this time in any case. */
const LIMITS = {
  merchant: { idle: '12 hours', absolute: '30 days' },
  operator: { idle: '15 minutes', absolute: '12 hours' },
} as const;

/** How long a confirmed password and second factor suffice for acts that ask for both again. */
const CONFIRMED_FOR = '10 minutes';

/** The time of the last request is written at most this often, for pages that make several. */
const SEEN_EVERY = '1 minute';

/** Longer texts are cut, so that no client fills the database. */
const USER_AGENT_LENGTH = 300;

export interface SignedInUser {
  userId: string;
  email: string;
  /** The id of the session's row; it is not the token. */
  sessionId: string;
  /** Null for an operator. */
  merchantId: string | null;
  merchantName: string | null;
  /** Decides what the user may do: see `access_status_of`. */
  merchantStatus: MerchantStatus | null;
  /** Null for a merchant's user. */
  role: OperatorRole | null;
  /** Whether two-factor is set up. An operator without it sees only the page that sets it up. */
  hasTwoFactor: boolean;
  /** True if password and, if set up, second factor were given within the last ten minutes: see `confirmAgain`. */
  isConfirmed: boolean;
  /** True if a form that the user sent is kept: see `createKeptForms`. */
  hasKeptForm?: boolean;
}

export interface ListedSession {
  sessionId: string;
  createdAt: Date;
  lastSeenAt: Date;
  address: string;
  userAgent: string;
}

interface SessionDeps {
  sql: Sql;
}

/** The limit in {@link LIMITS} that holds for user `u`: operators have shorter ones. */
const limitOf = (sql: Sql, limit: 'idle' | 'absolute') => sql`
  (CASE WHEN u.operator_role IS NULL THEN ${LIMITS.merchant[limit]}::interval
    ELSE ${LIMITS.operator[limit]}::interval END)`;

/** SQL condition: session `s` of user `u` has not ended. */
export const isLive = (sql: Sql) => sql`
  s.expires_at > service_now() AND s.last_seen_at > service_now() - ${limitOf(sql, 'idle')}
  AND u.disabled_at IS NULL`;

/** How a user proved to be the user, beside the password. */
export type SecondFactor = 'totp' | 'recovery_code';

export interface LoginProof {
  secondFactor?: SecondFactor;
  /** The hash that the password was verified with. If the password has changed since, no session is made. */
  passwordHash?: string | null;
  /**
   * True if the user has just given the password. Together with the second factor, or alone for a merchant's user
   * who has none, it makes the session a confirmed one.
   */
  hasPassword?: boolean;
}

/** A user with more sessions than this keeps the ones used last. */
const MOST_SESSIONS = 20;

/**
 * Starts a session, and ends the one that the browser had: a token from before the login is not valid after it.
 *
 * @returns the token for the browser's cookie
 * @throws DomainError INVALID_STATE if the user may not sign in
 */
export async function createSession(
  { sql }: SessionDeps,
  userId: string,
  client: Client,
  { secondFactor, passwordHash, hasPassword = false }: LoginProof = {},
): Promise<string> {
  const token = newToken();
  const sessionId = `ses_${ulid()}`;
  const details = { sessionId, secondFactor: secondFactor ?? null };
  const rows = await sql`
    WITH ended AS (
      DELETE FROM dashboard_sessions s USING users u WHERE u.user_id = s.user_id
        AND (s.token_hash = ${hashOfToken(client.sessionToken ?? '')}
          OR (u.user_id = ${userId} AND NOT (${isLive(sql)}))
          OR s.session_id IN (SELECT session_id FROM dashboard_sessions
            WHERE user_id = ${userId} ORDER BY last_seen_at DESC OFFSET ${MOST_SESSIONS - 1}))
    ), created AS (
      INSERT INTO dashboard_sessions
        (session_id, token_hash, user_id, expires_at, address, user_agent, confirmed_at)
      SELECT ${sessionId}, ${hashOfToken(token)}, u.user_id,
        service_now() + ${limitOf(sql, 'absolute')},
        ${client.address}, ${client.userAgent.slice(0, USER_AGENT_LENGTH)},
        CASE WHEN ${hasPassword} AND (${secondFactor !== undefined}
          OR (u.merchant_id IS NOT NULL AND u.totp_confirmed_at IS NULL)) THEN service_now() END
      FROM users u WHERE u.user_id = ${userId} AND u.disabled_at IS NULL
        ${passwordHash === undefined ? sql`` : sql`AND u.password_hash = ${passwordHash}`}
      RETURNING user_id
    ), audited AS (
      INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
      SELECT ${auditNameOf(sql)}, ${client.address}, 'session.create', u.merchant_id, u.user_id,
        ${sql.json(details)}
      FROM created JOIN users u USING (user_id)
    )
    SELECT FROM created`;
  if (rows.length > 0) return token;
  throw new DomainError('INVALID_STATE', 'This account cannot be used now: log in again');
}

/**
 * Finds the user of a session. The same statement records the time of the request, at most once a minute.
 *
 * @param isActivity false for a request that no person made: it does not extend the session
 * @returns undefined if the session does not exist, has ended, or its user is disabled
 */
export async function readSession(
  { sql }: SessionDeps,
  token: string,
  isActivity = true,
): Promise<SignedInUser | undefined> {
  const [found] = await sql<SignedInUser[]>`
    WITH live AS (
      SELECT s.session_id, s.last_seen_at, s.confirmed_at, u.* FROM dashboard_sessions s JOIN users u USING (user_id)
      WHERE s.token_hash = ${hashOfToken(token)} AND ${isLive(sql)}
    ), seen AS (
      UPDATE dashboard_sessions s SET last_seen_at = service_now() FROM live
      WHERE s.session_id = live.session_id AND ${isActivity}
        AND live.last_seen_at <= service_now() - ${SEEN_EVERY}::interval
    )
    SELECT user_id, live.email, session_id, merchant_id, m.name AS merchant_name,
      m.access_status AS merchant_status, operator_role AS role,
      totp_confirmed_at IS NOT NULL AS has_two_factor,
      coalesce(live.confirmed_at > service_now() - ${CONFIRMED_FOR}::interval, false) AS is_confirmed,
      EXISTS (SELECT FROM kept_forms WHERE holder = 'user:' || user_id) AS has_kept_form
    FROM live LEFT JOIN shared.merchants m USING (merchant_id)`;
  if (!found) return undefined;
  const { hasKeptForm, ...user } = found;
  return hasKeptForm ? { ...user, hasKeptForm } : user;
}

/** Lists the live sessions of a user, the last used first. */
export async function listSessions({ sql }: SessionDeps, userId: string): Promise<ListedSession[]> {
  return sql<ListedSession[]>`
    SELECT s.session_id, s.created_at, s.last_seen_at, s.address, s.user_agent
    FROM dashboard_sessions s JOIN users u USING (user_id)
    WHERE s.user_id = ${userId} AND ${isLive(sql)}
    ORDER BY s.last_seen_at DESC, s.session_id DESC`;
}

/**
 * Ends one session of a user.
 *
 * @param address the client's IP address, for the audit log
 * @returns false if the user has no such session
 */
export async function endSession(
  { sql }: SessionDeps,
  userId: string,
  sessionId: string,
  address: string,
): Promise<boolean> {
  const ended = await sql`
    WITH ended AS (
      DELETE FROM dashboard_sessions WHERE user_id = ${userId} AND session_id = ${sessionId}
      RETURNING *
    ), audited AS (${auditEnded(sql, address)})
    SELECT FROM ended`;
  return ended.length > 0;
}

/**
 * Ends all sessions of a user but the given one.
 *
 * @returns false if there was no other
 */
export async function endOtherSessions(
  { sql }: SessionDeps,
  userId: string,
  keptSessionId: string,
  address: string,
): Promise<boolean> {
  const ended = await sql`
    WITH ended AS (
      DELETE FROM dashboard_sessions
      WHERE user_id = ${userId} AND session_id <> ${keptSessionId}
      RETURNING *
    ), audited AS (${auditEnded(sql, address)})
    SELECT FROM ended`;
  return ended.length > 0;
}

const auditEnded = (sql: Sql, address: string) => sql`
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  SELECT ${auditNameOf(sql)}, ${address}, 'session.end', u.merchant_id, u.user_id,
    jsonb_build_object('sessionId', ended.session_id)
  FROM ended JOIN users u USING (user_id)`;
