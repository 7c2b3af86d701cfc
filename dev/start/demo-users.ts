import { randomBytes } from 'node:crypto';
import type { PendingQuery, Row } from 'postgres';
import { ulid } from 'ulid';
import type { AccountDeps } from '../../src/accounts/context.ts';
import { hashPassword, verifyPassword } from '../../src/accounts/passwords/passwords.ts';
import type { OperatorRole } from '../../src/accounts/people/permissions.ts';
import type { UserRow } from '../../src/accounts/people/users.ts';
import { emailKeyOf } from '../../src/accounts/people/users.ts';
import {
  newTotpSecret,
  openTotpSecret,
  sealTotpSecret,
  totpOf,
} from '../../src/accounts/two-factor/second-factor.ts';
import { SealError } from '../../src/secret-box.ts';
import type { DemoOperator, DemoUser } from '../dev-facts.ts';

type UserDeps = Pick<AccountDeps, 'sql' | 'dataBox'>;

/** The e-mail addresses of the demo operators, so that one can approve what the other one proposes. */
export const OPERATOR_EMAILS = ['operator@example.com', 'operator-2@example.com'] as const;

const CODE_PERIOD_MS = 30_000;

/** A user of a merchant, or an operator with a second factor. */
interface WrittenUser {
  readonly userId: string;
  readonly email: string;
  readonly merchantId?: string;
  readonly role?: OperatorRole;
  /** Without it the user cannot log in. */
  readonly passwordHash: string | null;
  readonly totpSecret?: string;
}

/**
 * Writes a user whose second factor is set up.
 *
 * @param conflict what `ON CONFLICT` does if there is the user
 */
export async function writeUser(
  { sql, dataBox }: UserDeps,
  { userId, email, merchantId, role, passwordHash, totpSecret }: WrittenUser,
  conflict: PendingQuery<Row[]>,
): Promise<void> {
  const hasSecret = totpSecret !== undefined;
  const sealed = hasSecret ? sealTotpSecret({ dataBox }, userId, totpSecret) : null;
  await sql`
    INSERT INTO users (user_id, email, merchant_id, operator_role, password_hash,
      totp_secret_sealed, totp_confirmed_at)
    VALUES (${userId}, ${email}, ${merchantId ?? null}, ${role ?? null}, ${passwordHash},
      ${sealed}, CASE WHEN ${hasSecret} THEN service_now() END)
    ON CONFLICT ${conflict}`;
}

/** Also a user who may no longer log in. */
async function findUser({ sql }: UserDeps, email: string): Promise<UserRow | undefined> {
  const [user] = await sql<UserRow[]>`SELECT * FROM users WHERE email = ${emailKeyOf(email)}`;
  return user;
}

/** The password from before if it is still valid, or a new one; and its hash. */
async function passwordOf(found: UserRow | undefined, known: DemoUser | undefined) {
  const passwordHash = found?.passwordHash ?? null;
  const isSame = known !== undefined && known.email === found?.email;
  if (passwordHash !== null && isSame && (await verifyPassword(known.password, passwordHash))) {
    return { password: known.password, passwordHash };
  }
  const password = randomBytes(12).toString('base64url');
  return { password, passwordHash: await hashPassword(password) };
}

/** The secret of the operator's two-factor codes, unless no key opens it any more. */
function openedSecret(deps: UserDeps, { userId, totpSecretSealed }: UserRow): string | undefined {
  try {
    return totpSecretSealed === null ? undefined : openTotpSecret(deps, userId, totpSecretSealed);
  } catch (error) {
    if (error instanceof SealError) return undefined;
    throw error;
  }
}

/** Writes a demo user, or lets the one that there is log in. @returns the password */
async function ensureUser(
  deps: UserDeps,
  user: Pick<WrittenUser, 'email' | 'merchantId' | 'role' | 'totpSecret'>,
  [found, known]: [UserRow | undefined, DemoUser | undefined],
): Promise<string> {
  const { password, passwordHash } = await passwordOf(found, known);
  const written = {
    ...user,
    userId: found?.userId ?? `usr_${ulid()}`,
    email: emailKeyOf(user.email),
    passwordHash,
  };
  const conflict = deps.sql`
    (email) DO UPDATE SET disabled_at = NULL, password_hash = excluded.password_hash,
      totp_secret_sealed = excluded.totp_secret_sealed,
      totp_confirmed_at = excluded.totp_confirmed_at, totp_last_step = NULL`;
  await writeUser(deps, written, conflict);
  return password;
}

/** Creates the user of the demo merchant unless there is one. */
export async function ensureMerchantUser(
  deps: UserDeps,
  { merchantId, email }: { merchantId: string; email: string },
  known: DemoUser | undefined,
): Promise<DemoUser> {
  const found = await findUser(deps, email);
  return { email, password: await ensureUser(deps, { email, merchantId }, [found, known]) };
}

/** Creates a demo operator unless there is one, with two-factor set up. */
export async function ensureOperator(
  deps: UserDeps,
  email: (typeof OPERATOR_EMAILS)[number],
  known: DemoOperator | undefined,
): Promise<DemoOperator> {
  const found = await findUser(deps, email);
  const totpSecret = (found && openedSecret(deps, found)) ?? newTotpSecret();
  const user = { email, role: 'admin', totpSecret } as const;
  return { email, password: await ensureUser(deps, user, [found, known]), totpSecret };
}

/** The current six-digit code of an operator. */
export function currentCode({ email, totpSecret }: Pick<DemoOperator, 'email' | 'totpSecret'>) {
  const nowMs = Date.now();
  return {
    email,
    code: totpOf(totpSecret, email).generate({ timestamp: nowMs }),
    validForSeconds: Math.ceil((CODE_PERIOD_MS - (nowMs % CODE_PERIOD_MS)) / 1000),
  };
}
