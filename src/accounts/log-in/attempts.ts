import { createHash } from 'node:crypto';
import type { Sql } from '../../db/client.ts';
import { networksOf } from '../../http/limits/client-ip.ts';
import { tooManyRequests } from '../../http/responses/errors.ts';
import type { Attempter } from './attempter.ts';

const QUARTER_HOUR_SECONDS = 15 * 60;
const DAY_SECONDS = 24 * 3600;

/**
 * For each purpose: how many attempts are free within how many seconds. After them, `admit_attempt` makes the next
 * ones wait.
 */
const FREE = {
  /** Passwords for one account from one address. Other addresses, such as the owner's, are not affected. */
  password: { free: 5, windowSeconds: QUARTER_HOUR_SECONDS },
  /** Passwords for any account from one address. */
  passwordOfAddress: { free: 50, windowSeconds: QUARTER_HOUR_SECONDS },
  /** Passwords for operators' accounts from one address that they log in from. */
  passwordOfOperators: { free: 50, windowSeconds: QUARTER_HOUR_SECONDS },
  /** Passwords for one account from all addresses that it was not logged in to from. */
  passwordOfAccount: { free: 100, windowSeconds: DAY_SECONDS },
  /** Two-factor codes for one account from one address. */
  code: { free: 5, windowSeconds: QUARTER_HOUR_SECONDS },
  /**
   * Two-factor codes for one account, for which its password is needed, from all addresses that it was not logged in
   * to from. Three of a million codes are right at any time.
   */
  codeOfAccount: { free: 30, windowSeconds: DAY_SECONDS },
  /** Links of mails, opened or requested, from one address. */
  link: { free: 20, windowSeconds: QUARTER_HOUR_SECONDS },
  /** Mails of one kind that one client has sent to one address. */
  mail: { free: 5, windowSeconds: QUARTER_HOUR_SECONDS },
  /** Mails that any clients have sent to one address. */
  mailOfAll: { free: 50, windowSeconds: QUARTER_HOUR_SECONDS },
} as const;

export interface AttemptLimit {
  purpose: keyof typeof FREE;
  /** What is guessed at; '' counts for all of them. Only its hash is stored. */
  subject: string;
  /** The client's IP address; its wider networks are counted, too. '' counts attempts from all addresses. */
  address: string;
}

/**
 * The limits for trying a password of the account with this e-mail address. The limit of the whole account counts
 * unknown networks only, so that guesses do not lock out its owner.
 */
export function passwordLimits(email: string, { address, standing }: Attempter): AttemptLimit[] {
  const own: AttemptLimit = { purpose: 'password', subject: email, address };
  if (standing === 'operator')
    return [own, { purpose: 'passwordOfOperators', subject: '', address }];
  const ofAddress: AttemptLimit = { purpose: 'passwordOfAddress', subject: '', address };
  if (standing === 'known') return [own, ofAddress];
  return [own, ofAddress, { purpose: 'passwordOfAccount', subject: email, address: '' }];
}

/** The limits for trying a user's two-factor code. The limit of the whole account is as in {@link passwordLimits}. */
export function codeLimits(userId: string, { address, standing }: Attempter): AttemptLimit[] {
  const own: AttemptLimit = { purpose: 'code', subject: userId, address };
  if (standing !== 'unknown') return [own];
  return [own, { purpose: 'codeOfAccount', subject: userId, address: '' }];
}

export const linkLimits = (address: string): AttemptLimit[] => [
  { purpose: 'link', subject: '', address },
];

/**
 * The limits for mails that a client has sent to an address. They protect its owner from a flood, and other clients
 * do not use up the owner's own requests.
 *
 * @param kind the kind of mail: sign-ups do not use up password resets
 */
export const mailLimits = (
  kind: 'sign_up' | 'reset',
  email: string,
  address: string,
): AttemptLimit[] => [
  { purpose: 'mail', subject: `${kind} ${email}`, address },
  { purpose: 'mailOfAll', subject: email, address: '' },
];

/** The rows of `account_attempts` that a limit uses: an IPv6 client has one for each of its networks. */
function countsOf({ purpose, subject, address }: AttemptLimit) {
  const networks = address === '' ? [{ key: '', limitFactor: 1 }] : networksOf(address);
  const hash = createHash('sha256').update(subject).digest('hex');
  return networks.map(({ key, limitFactor }) => ({
    purpose,
    subject: hash,
    address: key,
    free: FREE[purpose].free * limitFactor,
    windowSeconds: FREE[purpose].windowSeconds,
    /** The row is for one subject and one client, so a success of this client deletes it. */
    isOfOne: subject !== '' && address !== '' && limitFactor === 1,
  }));
}

async function secondsToWait(sql: Sql, limits: readonly AttemptLimit[]): Promise<number> {
  const counts = limits.flatMap(countsOf);
  const [row] = await sql<[{ seconds: number }]>`
    SELECT admit_attempt(${sql.json(counts)}) AS seconds`;
  return row.seconds;
}

/**
 * Counts an attempt, before its outcome is known.
 *
 * @throws HttpRefusal TOO_MANY_REQUESTS with `Retry-After`, if the client has to wait first
 */
export async function admitAttempt(sql: Sql, limits: readonly AttemptLimit[]): Promise<void> {
  const seconds = Math.ceil(await secondsToWait(sql, limits));
  if (seconds === 0) return;
  const wait = seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  throw tooManyRequests(seconds, `Too many attempts: try again in ${wait}`);
}

/** Counts a mail that anyone can request, and returns whether it may be sent. @param limits {@link mailLimits} */
export async function admitMail(sql: Sql, limits: readonly AttemptLimit[]): Promise<boolean> {
  return (await secondsToWait(sql, limits)) === 0;
}

/**
 * Call after a success: deletes the attempts of this client at this subject. The counts of a wider network, of all
 * clients and of all subjects fall by one only, so that a login does not admit guesses by others or at other
 * accounts.
 */
export async function forgetAttempts(sql: Sql, limits: readonly AttemptLimit[]): Promise<void> {
  const counts = limits.flatMap(countsOf);
  await sql`
    WITH keys AS (
      SELECT purpose, decode(subject, 'hex') AS subject, address, "isOfOne" AS is_of_one
      FROM jsonb_to_recordset(${sql.json(counts)})
        AS k (purpose text, subject text, address text, "isOfOne" boolean)
    ), forgotten AS (
      DELETE FROM account_attempts a USING keys k
      WHERE (a.purpose, a.subject, a.address) = (k.purpose, k.subject, k.address)
        AND k.is_of_one
    )
    UPDATE account_attempts a SET attempts = greatest(a.attempts - 1, 0) FROM keys k
    WHERE (a.purpose, a.subject, a.address) = (k.purpose, k.subject, k.address) AND NOT k.is_of_one`;
}

/** Call after a new password was set by mail: no address has to wait because of earlier failures. */
export async function forgetAllAttempts(
  sql: Sql,
  { userId, email }: { userId: string; email: string },
): Promise<void> {
  const hashOf = (subject: string) => createHash('sha256').update(subject).digest();
  await sql`
    DELETE FROM account_attempts
    WHERE (purpose IN ('password', 'passwordOfAccount') AND subject = ${hashOf(email)})
      OR (purpose IN ('code', 'codeOfAccount') AND subject = ${hashOf(userId)})`;
}
