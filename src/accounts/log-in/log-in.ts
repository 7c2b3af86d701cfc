import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { admitAttempt, codeLimits, forgetAttempts, passwordLimits } from './attempts.ts';
import { readAttempter } from './attempter.ts';
import type { AccountDeps, Client } from '../context.ts';
import { noticeMail } from '../mails.ts';
import { hashPassword, isCurrentHash, verifyPassword } from '../passwords/passwords.ts';
import { acceptSecondFactor } from '../two-factor/second-factor.ts';
import { noticeDevice } from './devices.ts';
import { createSession } from './sessions.ts';
import { hashOfToken, newToken } from '../tokens.ts';
import type { UserRow } from '../people/users.ts';
import { emailKeyOf, findUserByEmail } from '../people/users.ts';

/** Holds the token between the password and the two-factor code. */
export const LOGIN_COOKIE = '__Host-login';

const CODE_AWAITED_FOR = '10 minutes';

/** The message is the same for every reason, so that it does not tell whether an account exists. */
const REFUSAL =
  'The e-mail address or the password is wrong, or the address is not confirmed yet: then open the link in our mail';

export interface LogInResult {
  next: 'session' | 'code';
  /** The value of {@link SESSION_COOKIE} or of {@link LOGIN_COOKIE}. */
  token: string;
}

/**
 * Checks an e-mail address and its password. An address without an account takes the same work as a
 * wrong password.
 *
 * @throws DomainError BAD_REQUEST when they are wrong
 * @throws HttpRefusal TOO_MANY_REQUESTS after too many failures
 */
export async function logIn(
  deps: AccountDeps,
  given: { email: string; password: string },
  client: Client,
): Promise<LogInResult> {
  const { sql } = deps;
  const email = emailKeyOf(given.email);
  const attempter = await readAttempter(sql, email, client.address);
  const limits = passwordLimits(email, attempter);
  await admitAttempt(sql, limits);
  const user = await findUserByEmail(sql, email);
  const isRight = await verifyPassword(given.password, user?.passwordHash ?? null, attempter);
  if (!user || !isRight) {
    await auditRefusal(sql, email, 'password', client);
    throw new DomainError('BAD_REQUEST', REFUSAL);
  }
  await forgetAttempts(sql, limits);
  // The hash waits in a queue: meanwhile the password may have been reset.
  const passwordHash = await renewHash(sql, user, given.password);
  if (user.totpConfirmedAt === null) {
    await noticeDevice(deps, user, client);
    const token = await createSession(deps, user.userId, client, {
      passwordHash,
      hasPassword: true,
    });
    return { next: 'session', token };
  }
  return { next: 'code', token: await awaitCode(sql, user.userId, passwordHash) };
}

async function auditRefusal(
  sql: Sql,
  email: string,
  wrong: 'password' | 'code',
  { address }: Client,
): Promise<void> {
  await sql`
    INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
    SELECT 'anonymous', ${address}, 'session.refuse', u.merchant_id, u.user_id,
      ${sql.json({ wrong })}
    FROM (SELECT) AS one LEFT JOIN users u ON u.email = ${email}`;
}

/** Replaces a hash that was made with earlier parameters. @returns the current hash */
async function renewHash(
  sql: Sql,
  { userId, passwordHash }: UserRow,
  password: string,
): Promise<string | null> {
  if (passwordHash === null || isCurrentHash(passwordHash)) return passwordHash;
  const renewed = await hashPassword(password);
  await sql`
    UPDATE users SET password_hash = ${renewed}
    WHERE user_id = ${userId} AND password_hash = ${passwordHash}`;
  return renewed;
}

async function awaitCode(sql: Sql, userId: string, passwordHash: string | null): Promise<string> {
  const token = newToken();
  const rows = await sql`
    WITH expired AS (
      DELETE FROM pending_logins WHERE user_id = ${userId} AND expires_at <= service_now()
    )
    INSERT INTO pending_logins (token_hash, user_id, expires_at)
    SELECT ${hashOfToken(token)}, user_id, service_now() + ${CODE_AWAITED_FOR}::interval
    FROM users WHERE user_id = ${userId} AND password_hash = ${passwordHash}
    RETURNING user_id`;
  if (rows.length > 0) return token;
  throw new DomainError('INVALID_STATE', 'This account cannot be used now: log in again');
}

/** Finds the user of a login that waits for its code. Returns undefined if it has expired or does not exist. */
async function findPending(sql: Sql, token: string): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`
    SELECT u.* FROM pending_logins p JOIN users u USING (user_id)
    WHERE p.token_hash = ${hashOfToken(token)} AND p.expires_at > service_now()
      AND u.disabled_at IS NULL`;
  return user;
}

export async function isCodeAwaited({ sql }: AccountDeps, token: string): Promise<boolean> {
  return (await findPending(sql, token)) !== undefined;
}

/**
 * Finishes a login with a two-factor code or a recovery code.
 *
 * @param token the value of {@link LOGIN_COOKIE}
 * @returns the token for the session's cookie
 * @throws DomainError NOT_FOUND when the login has expired
 * @throws ValidationError for a wrong code
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function logInWithCode(
  deps: AccountDeps,
  token: string,
  code: string,
  client: Client,
): Promise<string> {
  const { sql } = deps;
  const user = await findPending(sql, token);
  if (!user) throw new DomainError('NOT_FOUND', 'The login has expired: log in again');
  const attempter = await readAttempter(sql, user.email, client.address);
  const limits = codeLimits(user.userId, attempter);
  await admitAttempt(sql, limits);
  const factor = await acceptSecondFactor(deps, user, code);
  if (!factor) {
    await auditRefusal(sql, user.email, 'code', client);
    throw new ValidationError({ code: 'The code is wrong, has expired or was used already' });
  }
  await forgetAttempts(sql, limits);
  await sql`DELETE FROM pending_logins WHERE token_hash = ${hashOfToken(token)}`;
  // A reset of the password ends logins that wait, and changes the hash.
  const proof = { secondFactor: factor, passwordHash: user.passwordHash, hasPassword: true };
  await noticeDevice(deps, user, client);
  const session = await createSession(deps, user.userId, client, proof);
  if (factor === 'recovery_code') {
    await deps.sendMail(noticeMail(deps, user.email, 'recovery_codes.use'));
  }
  return session;
}
