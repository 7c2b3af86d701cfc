import { Secret, TOTP } from 'otpauth';
import { ulid } from 'ulid';
import { hashPassword } from '../../src/accounts/passwords/passwords.ts';
import type { OperatorRole } from '../../src/accounts/public.ts';
import { SESSION_COOKIE } from '../../src/accounts/public.ts';
import { createSession } from '../../src/accounts/log-in/sessions.ts';
import { hashOfToken } from '../../src/accounts/tokens.ts';
import type { Sql } from '../../src/db/client.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { once } from './fixtures.ts';
import { SECRET_KEYS } from './secret-keys.ts';

/** The password of every user of a test. */
export const PASSWORD = 'seven green bicycles';
/** The secret of two-factor codes of every user of a test who has them set up. */
export const TOTP_SECRET = 'NFXHI2LTMFZWK43UNBQXILTJNZ2GC3DF';

/** The two-factor code of a secret at a time, as an authenticator shows it. */
export const codeOf = (secret: string, atMs = Date.now()) =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: atMs });

/** A signed-in user of a test. */
export interface TestUser {
  userId: string;
  email: string;
  /** The Cookie header of the user's session. */
  cookie: string;
}

interface UserOptions {
  email?: string;
  hasTwoFactor?: boolean;
}

const passwordHash = once(() => hashPassword(PASSWORD));

/**
 * Signs a user in again, as with the password and the second factor.
 *
 * @param options.isConfirmed false if both were given more than ten minutes ago
 * @returns the Cookie header
 */
export async function signIn(
  sql: Sql,
  userId: string,
  { isConfirmed = true }: { isConfirmed?: boolean } = {},
): Promise<string> {
  const client = { address: '127.0.0.1', userAgent: 'a test' };
  const token = await createSession({ sql }, userId, client);
  await sql`
    UPDATE dashboard_sessions SET confirmed_at = ${isConfirmed ? sql`service_now()` : null}
    WHERE token_hash = ${hashOfToken(token)}`;
  return `${SESSION_COOKIE}=${token}`;
}

async function newUser(
  sql: Sql,
  owner: { merchantId: string } | { operatorRole: OperatorRole },
  { email, hasTwoFactor }: Required<UserOptions>,
): Promise<TestUser> {
  const userId = `usr_${ulid()}`;
  const sealed = createSecretBox(SECRET_KEYS).seal(TOTP_SECRET, [userId, 'totp_secret']);
  const twoFactor = { totpSecretSealed: sealed, totpConfirmedAt: new Date() };
  const row = {
    userId,
    email,
    passwordHash: await passwordHash(),
    ...owner,
    ...(hasTwoFactor && twoFactor),
  };
  await sql`INSERT INTO users ${sql(row)}`;
  return { userId, email, cookie: await signIn(sql, userId) };
}

/** The user of a merchant, signed in. */
export function merchantUser(
  sql: Sql,
  merchantId: string,
  { email = `${ulid().toLowerCase()}@shop.example`, hasTwoFactor = false }: UserOptions = {},
): Promise<TestUser> {
  return newUser(sql, { merchantId }, { email, hasTwoFactor });
}

/** A new operator, signed in with two-factor. */
export function operatorUser(
  sql: Sql,
  operatorRole: OperatorRole,
  { email = `${ulid().toLowerCase()}@ops.example`, hasTwoFactor = true }: UserOptions = {},
): Promise<TestUser> {
  return newUser(sql, { operatorRole }, { email, hasTwoFactor });
}
