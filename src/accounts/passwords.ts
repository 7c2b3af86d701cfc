import { argon2, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';

/** The cost of one hash. */
interface Argon2Cost {
  /** In KiB. */
  memory: number;
  passes: number;
  parallelism: number;
}

/** Source: OWASP's Password Storage Cheat Sheet, Argon2id with 19 MiB. */
const COST: Argon2Cost = { memory: 19_456, passes: 2, parallelism: 1 };
const SALT_BYTES = 16;
const HASH_BYTES = 32;

const derive = promisify(argon2);
const toText = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** Devices send the same characters in different Unicode forms. */
const bytesOf = (password: string) => Buffer.from(password.normalize('NFC'));

function argon2id(password: string, salt: Buffer, cost: Argon2Cost): Promise<Buffer> {
  const parameters = { message: bytesOf(password), nonce: salt, tagLength: HASH_BYTES, ...cost };
  return derive('argon2id', parameters);
}

const prefixOf = ({ memory, passes, parallelism }: Argon2Cost) =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`;

/** Hashes a password with Argon2id. @returns the hash with its parameters and salt, as PHC text */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES);
  const hash = await argon2id(password, salt, COST);
  return `${prefixOf(COST)}${toText(salt)}$${toText(hash)}`;
}
