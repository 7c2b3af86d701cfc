import { createHash } from 'node:crypto';
import type { Sql } from '../../db/client.ts';
import { limitKeyOf } from '../../http/limits/client-ip.ts';
import { HttpRefusal } from '../../http/responses/errors.ts';

/**
 * How many attempts of a purpose are free within 15 minutes. After them, `admit_attempt` makes the
 * next ones wait.
 */
const FREE = {
  /** Passwords for one account from one address: others, such as the owner's, are not affected. */
  password: 5,
  /** Passwords for any account from one address. */
  passwordOfAddress: 50,
  /** Two-factor codes for one account from one address. */
  code: 5,
  /**
   * Two-factor codes for one account, for which its password is needed. Three of a million codes
   * are right at any time.
   */
  codeOfAccount: 30,
  /** Links of mails, opened or requested, from one address. */
  link: 20,
  /** Mails of one kind that one client has sent to one address. */
  mail: 5,
  /** Mails that any clients have sent to one address. */
  mailOfAll: 50,
} as const;

/** One count of attempts. */
export interface AttemptLimit {
  purpose: keyof typeof FREE;
  /** What is guessed at; '' counts for all of them. Only its hash is stored. */
  subject: string;
  /** The client's IP address; '' counts for all of them. */
  address: string;
}

/** The limits of a password that an address offers for the account of an e-mail address. */
export const passwordLimits = (email: string, address: string): AttemptLimit[] => [
  { purpose: 'password', subject: email, address },
  { purpose: 'passwordOfAddress', subject: '', address },
];

/** The limits of a two-factor code that an address offers for a user. */
export const codeLimits = (userId: string, address: string): AttemptLimit[] => [
  { purpose: 'code', subject: userId, address },
  { purpose: 'codeOfAccount', subject: userId, address: '' },
];

/** The limits of opening or requesting links of mails. */
export const linkLimits = (address: string): AttemptLimit[] => [
  { purpose: 'link', subject: '', address },
];

/**
 * The limits of a mail that a client has sent to an address: its owner cannot be flooded, and other
 * clients do not use up the owner's own requests.
 *
 * @param kind of the mail: sign-ups do not use up resets of the password
 */
export const mailLimits = (
  kind: 'sign_up' | 'reset',
  email: string,
  address: string,
): AttemptLimit[] => [
  { purpose: 'mail', subject: `${kind} ${email}`, address },
  { purpose: 'mailOfAll', subject: email, address: '' },
];

const keyOf = ({ purpose, subject, address }: AttemptLimit) => ({
  purpose,
  subject: createHash('sha256').update(subject).digest('hex'),
  address: address === '' ? '' : limitKeyOf(address),
});

async function secondsToWait(sql: Sql, limits: readonly AttemptLimit[]): Promise<number> {
  const counted = limits.map((limit) => ({ ...keyOf(limit), free: FREE[limit.purpose] }));
  const [row] = await sql<[{ seconds: number }]>`
    SELECT admit_attempt(${sql.json(counted)}) AS seconds`;
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
  const headers = { 'Retry-After': String(seconds) };
  throw new HttpRefusal('TOO_MANY_REQUESTS', headers, `Too many attempts: try again in ${wait}`);
}

/** Whether one more mail may be sent, which anyone can request. @param limits {@link mailLimits} */
export async function admitMail(sql: Sql, limits: readonly AttemptLimit[]): Promise<boolean> {
  return (await secondsToWait(sql, limits)) === 0;
}

/**
 * After a success: the attempts at this subject are forgotten, and those of an address at any
 * subject are one fewer, so that a login to one's own account does not admit guesses at others.
 */
export async function forgetAttempts(sql: Sql, limits: readonly AttemptLimit[]): Promise<void> {
  const keys = limits.map((limit) => ({ ...keyOf(limit), isOfAll: limit.subject === '' }));
  await sql`
    WITH keys AS (
      SELECT purpose, decode(subject, 'hex') AS subject, address, "isOfAll" AS is_of_all
      FROM jsonb_to_recordset(${sql.json(keys)})
        AS k (purpose text, subject text, address text, "isOfAll" boolean)
    ), forgotten AS (
      DELETE FROM account_attempts a USING keys k
      WHERE (a.purpose, a.subject, a.address) = (k.purpose, k.subject, k.address)
        AND NOT k.is_of_all
    )
    UPDATE account_attempts a SET attempts = greatest(a.attempts - 1, 0) FROM keys k
    WHERE (a.purpose, a.subject, a.address) = (k.purpose, k.subject, k.address) AND k.is_of_all`;
}

/** After a new password was set by mail: no address has to wait because of earlier failures. */
export async function forgetAllAttempts(
  sql: Sql,
  { userId, email }: { userId: string; email: string },
): Promise<void> {
  const hashOf = (subject: string) => createHash('sha256').update(subject).digest();
  await sql`
    DELETE FROM account_attempts
    WHERE (purpose = 'password' AND subject = ${hashOf(email)})
      OR (purpose IN ('code', 'codeOfAccount') AND subject = ${hashOf(userId)})`;
}
