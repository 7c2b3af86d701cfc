import { createHash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;

/** Makes a token of 256 random bits, in characters that fit in a cookie and in a URL. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/**
 * The hash of a token, which the database stores. A fast hash is enough, because 256 random bits cannot be guessed.
 */
export function hashOfToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
