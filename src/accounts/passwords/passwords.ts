import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { tooManyRequests } from '../../http/responses/errors.ts';
import { createLimiter } from '../../limiter.ts';
import type { Attempter } from '../log-in/attempter.ts';
import { isTooLongToNormalise } from './password-rules.ts';

interface Argon2Cost {
  /** KiB. */
  memory: number;
  passes: number;
  parallelism: number;
}

/**
 * Source: OWASP's Password Storage Cheat Sheet, Argon2id with 19 MiB. A hash is stored with its
 * parameters: after they are raised here, each user's next login replaces the hash.
 */
const COST: Argon2Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const PHC_TEXT =
  /^\$argon2id\$v=19\$m=(?<memory>\d+),t=(?<passes>\d+),p=(?<parallelism>\d+)\$(?<salt>[^$]+)\$(?<hash>[^$]+)$/;

/** The most hashes that may wait. About 12 are made in a second: more would wait longer than a response may take. */
const MAX_WAITING = 40;
const RETRY_AFTER_SECONDS = 5;
/**
 * Limits the hashes that are made at the same time: a hash takes 19 MiB and one of the four threads with which Node
 * also reads files. Operators who log in from a known address have a lane of their own, so they do not wait behind
 * others.
 */
const laneOf = (ofOne: number) =>
  createLimiter({ ofOne, maxWaiting: MAX_WAITING }, () => tooManyRequests(RETRY_AFTER_SECONDS));
const lanes = { operators: laneOf(1), others: laneOf(2) };
const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/={1,2}$/, '');

function argon2id(
  password: string,
  { salt, cost, lane }: { salt: Buffer; cost: Argon2Cost; lane: keyof typeof lanes },
): Promise<Buffer> {
  // Devices send the same characters in different Unicode forms.
  const message = Buffer.from(
    isTooLongToNormalise(password) ? password : password.normalize('NFC'),
  );
  const parameters = { message, nonce: salt, tagLength: HASH_BYTES, ...cost };
  // Looked up for each call, so that tests can count the hashes.
  return lanes[lane].run('argon2id', () => promisify(argon2)('argon2id', parameters));
}

const prefixOf = ({ memory, passes, parallelism }: Argon2Cost) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;

/**
 * Hashes a password with Argon2id.
 *
 * @returns the hash with its parameters and salt, as PHC text
 * @throws HttpRefusal `TOO_MANY_REQUESTS` when 40 hashes wait already
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await argon2id(password, { salt, cost: COST, lane: 'others' });
  return `${prefixOf(COST)}${base64(salt)}$${base64(hash)}`;
}

export const isCurrentHash = (stored: string) => stored.startsWith(prefixOf(COST));

/** No password has this hash. It is compared when there is no account, so that the answer takes the same time. */
const NO_HASH = `${prefixOf(COST)}${base64(Buffer.alloc(SALT_BYTES))}$${base64(Buffer.alloc(HASH_BYTES))}`;

/**
 * Checks a password against a stored hash. Without a stored hash it returns false after the same work: an account
 * that does not exist must not answer faster.
 *
 * @throws HttpRefusal `TOO_MANY_REQUESTS` when 40 hashes wait already
 */
export async function verifyPassword(
  password: string,
  stored: string | null,
  { standing }: Pick<Attempter, 'standing'> = { standing: 'unknown' },
): Promise<boolean> {
  const groups = PHC_TEXT.exec(stored ?? NO_HASH)?.groups;
  if (!groups) throw new Error('A stored password hash is no Argon2id hash');
  const { memory, passes, parallelism, salt = '', hash = '' } = groups;
  const cost = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
  };
  const lane = standing === 'operator' ? 'operators' : 'others';
  const given = await argon2id(password, { salt: Buffer.from(salt, 'base64'), cost, lane });
  const expected = Buffer.from(hash, 'base64');
  return given.length === expected.length && timingSafeEqual(given, expected);
}
