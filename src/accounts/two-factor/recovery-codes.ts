import { createHash, randomInt } from 'node:crypto';

/** Omits letters that look like digits. Source: Crockford's Base32. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const CODES = 10;
/**
 * A code has 120 bits, in six groups of four characters. From 112 bits on OWASP ASVS 5.0 (6.5.2) allows a fast hash;
 * a slow one would have to be compared with each of the ten.
 */
const GROUPS = 6;
const GROUP_LENGTH = 4;

const group = () =>
  Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Makes ten new recovery codes, such as `7KQ2-M0XV-…`. */
export function newRecoveryCodes(): string[] {
  return Array.from({ length: CODES }, () => Array.from({ length: GROUPS }, group).join('-'));
}

/** The hash of a recovery code, which the database stores. Case, spaces and hyphens do not matter. */
export function hashOfRecoveryCode(typed: string): Buffer {
  const code = typed
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, '')
    .replaceAll('O', '0')
    .replaceAll(/[IL]/g, '1');
  return createHash('sha256').update(code).digest();
}
