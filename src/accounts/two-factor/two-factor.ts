import type { Sql } from '../../db/client.ts';
import { DomainError } from '../../domain/index.ts';
import { ValidationError } from '../../http/responses/errors.ts';
import { readAttempter } from '../log-in/attempter.ts';
import { admitAttempt, codeLimits, forgetAttempts } from '../log-in/attempts.ts';
import type { AccountDeps, Client } from '../context.ts';
import { noticeMail } from '../mails.ts';
import { hashOfRecoveryCode, newRecoveryCodes } from './recovery-codes.ts';
import {
  acceptSecondFactor,
  newTotpSecret,
  openTotpSecret,
  sealTotpSecret,
  stepOfCode,
  totpOf,
} from './second-factor.ts';
import type { SecondFactor, SignedInUser } from '../log-in/sessions.ts';
import { createSession } from '../log-in/sessions.ts';
import { endingAccess, requirePassword } from '../passwords/set-password.ts';
import type { UserRow } from '../people/users.ts';
import { auditNameOf, requireUser } from '../people/users.ts';

export interface TwoFactorSetUp {
  /** Base32. */
  secret: string;
  /** `otpauth://…`, for a QR code. */
  uri: string;
}

export interface GivenAgain {
  password: string;
  /** A code of the authenticator or a recovery code. Ignored if two-factor is not set up. */
  code: string;
}

export interface TwoFactorState {
  since: Date | null;
  recoveryCodesLeft: number;
}

/** @throws DomainError INVALID_STATE */
function refuseSetUp(): never {
  throw new DomainError('INVALID_STATE', 'Two-factor authentication is already set up');
}

/**
 * Checks the password and, if set up, the second factor of a signed-in user. Failures count as those of a login.
 *
 * @throws ValidationError for a wrong password or code
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function requireBoth(
  deps: AccountDeps,
  user: SignedInUser,
  { password, code }: GivenAgain,
  client: Client,
): Promise<{ row: UserRow; factor: SecondFactor | null }> {
  const row = await requirePassword(deps, user, password, client);
  if (row.totpConfirmedAt === null) return { row, factor: null };
  const attempter = await readAttempter(deps.sql, user.email, client.address);
  const limits = codeLimits(user.userId, attempter);
  await admitAttempt(deps.sql, limits);
  const factor = await acceptSecondFactor(deps, row, code);
  if (!factor) {
    throw new ValidationError({ code: 'The code is wrong, has expired or was used already' });
  }
  await forgetAttempts(deps.sql, limits);
  return { row, factor };
}

export async function readTwoFactor(
  { sql }: AccountDeps,
  { userId }: SignedInUser,
): Promise<TwoFactorState> {
  const [row] = await sql<[TwoFactorState]>`
    SELECT totp_confirmed_at AS since, (
      SELECT count(*)::int FROM recovery_codes c
      WHERE c.user_id = u.user_id AND c.used_at IS NULL) AS recovery_codes_left
    FROM users u WHERE user_id = ${userId}`;
  return row;
}

/**
 * Makes a new secret, which takes effect when a code has confirmed it.
 *
 * @throws DomainError INVALID_STATE when two-factor is set up
 */
export async function startTwoFactor(deps: AccountDeps, { userId }: SignedInUser): Promise<void> {
  const sealed = sealTotpSecret(deps, userId, newTotpSecret());
  const started = await deps.sql`
    UPDATE users SET totp_secret_sealed = ${sealed}
    WHERE user_id = ${userId} AND totp_confirmed_at IS NULL RETURNING user_id`;
  if (started.length === 0) refuseSetUp();
}

/** The secret that waits for its first code, if there is one. */
export async function readTwoFactorSetUp(
  deps: AccountDeps,
  { userId }: SignedInUser,
): Promise<TwoFactorSetUp | undefined> {
  return setUpOf(deps, await requireUser(deps.sql, userId));
}

function setUpOf(
  deps: AccountDeps,
  { userId, email, totpSecretSealed, totpConfirmedAt }: UserRow,
): TwoFactorSetUp | undefined {
  if (totpSecretSealed === null || totpConfirmedAt !== null) return undefined;
  const secret = openTotpSecret(deps, userId, totpSecretSealed);
  return { secret, uri: totpOf(secret, email).toString() };
}

/** The result of a change of two-factor. Its values are shown once. */
export interface TwoFactorChange {
  recoveryCodes: string[];
  /** The value of the session's cookie. The user's other sessions have ended. */
  sessionToken: string;
}

/** Stores the hashes of new codes for the user in `changed`, instead of the earlier ones. */
const replacingCodes = (sql: Sql, codes: readonly string[]) => sql`
  old_codes AS (
    DELETE FROM recovery_codes c USING changed WHERE c.user_id = changed.user_id
  ), new_codes AS (
    INSERT INTO recovery_codes (user_id, code_hash)
    SELECT user_id, decode(hash, 'hex')
    FROM changed, unnest(${codes.map((code) => hashOfRecoveryCode(code).toString('hex'))}::text[]) AS hash
  )`;

/**
 * Switches two-factor on with the password and the first code of the authenticator. All sessions
 * end; this browser gets a new one.
 *
 * @throws ValidationError for a wrong password or code
 * @throws DomainError INVALID_STATE when two-factor is set up, or no secret was made
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function confirmTwoFactor(
  deps: AccountDeps,
  user: SignedInUser,
  { password, code }: { password: string; code: string },
  client: Client,
): Promise<TwoFactorChange> {
  const { sql } = deps;
  const { userId, email } = user;
  const row = await requirePassword(deps, user, password, client);
  const setUp = setUpOf(deps, row);
  if (!setUp) return refuseSetUp();
  const step = stepOfCode(deps, totpOf(setUp.secret, email), code.replaceAll(/\s/g, ''));
  if (step === undefined) {
    throw new ValidationError({ code: 'The code is wrong. Is the clock of your device right?' });
  }
  const recoveryCodes = newRecoveryCodes();
  const confirmed = await sql`
    WITH changed AS (
      UPDATE users SET totp_confirmed_at = service_now(), totp_last_step = ${step}
      WHERE user_id = ${userId} AND totp_confirmed_at IS NULL
        AND totp_secret_sealed = ${row.totpSecretSealed}
      RETURNING *
    ), ${replacingCodes(sql, recoveryCodes)}, ${endingAccess(sql)}, audited AS (${auditing(sql, 'two_factor.enable', client)})
    SELECT FROM changed`;
  if (confirmed.length === 0) return refuseSetUp();
  await deps.sendMail(noticeMail(deps, email, 'two_factor.enable'));
  return {
    recoveryCodes,
    sessionToken: await createSession(deps, userId, client, {
      secondFactor: 'totp',
      hasPassword: true,
    }),
  };
}

/**
 * Makes new recovery codes; the old ones no longer work. It always takes the password and a code, because a recovery
 * code replaces the second factor.
 *
 * @throws ValidationError for a wrong password or code
 * @throws DomainError INVALID_STATE when two-factor is not set up
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function renewRecoveryCodes(
  deps: AccountDeps,
  user: SignedInUser,
  given: GivenAgain,
  client: Client,
): Promise<string[]> {
  const { sql } = deps;
  const { factor } = await requireBoth(deps, user, given, client);
  if (factor === null) return refuseMissing();
  const recoveryCodes = newRecoveryCodes();
  const renewed = await sql`
    WITH changed AS (
      SELECT * FROM users WHERE user_id = ${user.userId} AND totp_confirmed_at IS NOT NULL
    ), ${replacingCodes(sql, recoveryCodes)},
    audited AS (${auditing(sql, 'recovery_codes.create', client)})
    SELECT FROM changed`;
  if (renewed.length === 0) return refuseMissing();
  await deps.sendMail(noticeMail(deps, user.email, 'recovery_codes.create'));
  return recoveryCodes;
}

/**
 * Switches two-factor off. It takes the password and a code, or a recovery code.
 *
 * @throws ValidationError for a wrong password or code
 * @throws DomainError INVALID_STATE when two-factor is not set up
 * @throws HttpRefusal TOO_MANY_REQUESTS
 */
export async function disableTwoFactor(
  deps: AccountDeps,
  user: SignedInUser,
  given: GivenAgain,
  client: Client,
): Promise<void> {
  const { sql } = deps;
  const { factor } = await requireBoth(deps, user, given, client);
  if (factor === null) return refuseMissing();
  await sql`
    WITH ${withoutTwoFactor(sql, user.userId)}
    ${auditing(sql, 'two_factor.disable', client)}`;
  await deps.sendMail(noticeMail(deps, user.email, 'two_factor.disable'));
}

/** Removes a user's secret and recovery codes, and the logins that wait for a code. */
export const withoutTwoFactor = (sql: Sql, userId: string) => sql`
  changed AS (
    UPDATE users SET totp_secret_sealed = NULL, totp_confirmed_at = NULL, totp_last_step = NULL
    WHERE user_id = ${userId} AND disabled_at IS NULL RETURNING *
  ), codes AS (
    DELETE FROM recovery_codes c USING changed WHERE c.user_id = changed.user_id
  ), logins AS (
    DELETE FROM pending_logins p USING changed WHERE p.user_id = changed.user_id
  )`;

const auditing = (sql: Sql, action: string, { address }: Client) => sql`
  INSERT INTO audit_log (actor, address, action, merchant_id, subject)
  SELECT ${auditNameOf(sql)}, ${address}, ${action}, u.merchant_id, u.user_id FROM changed u`;

function refuseMissing(): never {
  throw new DomainError('INVALID_STATE', 'Two-factor authentication is not set up');
}
