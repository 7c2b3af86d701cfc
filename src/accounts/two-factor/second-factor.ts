import { Secret, TOTP } from 'otpauth';
import type { AccountDeps } from '../context.ts';
import { hashOfRecoveryCode } from './recovery-codes.ts';
import type { SecondFactor } from '../log-in/sessions.ts';
import type { UserRow } from '../people/users.ts';

/** The name that an authenticator app shows above the codes. */
const ISSUER = 'Merchant Payments';
const PERIOD_MS = 30_000;
/** The previous and the next code are accepted, too, because clocks differ and typing takes time. */
const WINDOW = 1;
/** Source: RFC 4226, section 4, which recommends 160 bits. */
const SECRET_BYTES = 20;

export const newTotpSecret = () => new Secret({ size: SECRET_BYTES }).base32;

export const totpOf = (secret: string, email: string) =>
  new TOTP({ issuer: ISSUER, label: email, secret: Secret.fromBase32(secret) });

/** The context that a sealed secret is bound to. */
export const totpContext = (userId: string) => [userId, 'totp_secret'];

export const sealTotpSecret = (
  { dataBox }: Pick<AccountDeps, 'dataBox'>,
  userId: string,
  secret: string,
) => dataBox.seal(secret, totpContext(userId));

export const openTotpSecret = (
  { dataBox }: Pick<AccountDeps, 'dataBox'>,
  userId: string,
  sealed: string,
) => dataBox.open(sealed, totpContext(userId));

/**
 * Finds the 30-second step that a code belongs to.
 *
 * @returns undefined if the code is wrong or outside the accepted window
 */
export function stepOfCode(
  { nowMs }: Pick<AccountDeps, 'nowMs'>,
  totp: TOTP,
  code: string,
): number | undefined {
  const timestamp = nowMs();
  const delta = totp.validate({ token: code, timestamp, window: WINDOW });
  return delta === null ? undefined : Math.floor(timestamp / PERIOD_MS) + delta;
}

type FactorDeps = Pick<AccountDeps, 'sql' | 'dataBox' | 'nowMs'>;

/**
 * Accepts a code, and afterwards refuses codes of its step and of earlier steps. A secret that was sealed with an
 * older key is sealed again.
 */
async function acceptTotp(deps: FactorDeps, user: UserRow, code: string): Promise<boolean> {
  const { userId, email, totpSecretSealed: sealed } = user;
  if (sealed === null) return false;
  const secret = openTotpSecret(deps, userId, sealed);
  const step = stepOfCode(deps, totpOf(secret, email), code);
  if (step === undefined) return false;
  const kept = deps.dataBox.isCurrent(sealed) ? sealed : sealTotpSecret(deps, userId, secret);
  const accepted = await deps.sql`
    UPDATE users SET totp_last_step = ${step}, totp_secret_sealed = ${kept}
    WHERE user_id = ${userId} AND totp_secret_sealed = ${sealed}
      AND coalesce(totp_last_step, 0) < ${step}
    RETURNING user_id`;
  return accepted.length > 0;
}

async function acceptRecoveryCode(
  { sql }: FactorDeps,
  { userId }: UserRow,
  code: string,
): Promise<boolean> {
  const accepted = await sql`
    UPDATE recovery_codes SET used_at = service_now()
    WHERE user_id = ${userId} AND code_hash = ${hashOfRecoveryCode(code)} AND used_at IS NULL
    RETURNING user_id`;
  return accepted.length > 0;
}

/**
 * Accepts the two-factor code or a recovery code of a user who has set up two-factor. Each code works once.
 *
 * @param typed may have spaces and hyphens
 * @returns the kind of code; undefined if it is wrong or was used before
 */
export async function acceptSecondFactor(
  deps: FactorDeps,
  user: UserRow,
  typed: string,
): Promise<SecondFactor | undefined> {
  const code = typed.replaceAll(/[\s-]/g, '');
  if (/^\d{6}$/.test(code)) return (await acceptTotp(deps, user, code)) ? 'totp' : undefined;
  return (await acceptRecoveryCode(deps, user, code)) ? 'recovery_code' : undefined;
}
