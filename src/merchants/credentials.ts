import { createHmac, randomInt, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Environment } from '../domain/index.ts';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_LENGTH = 30;
const CHECKSUM_LENGTH = 6;

const KEY_PREFIX = { sandbox: 'mk_test_', production: 'mk_live_' } as const;
const SECRET_PREFIX = { sandbox: 'sk_test_', production: 'sk_live_' } as const;

/** A merchant's key pair for one environment; the secret exists in the clear only here. */
export interface KeyPair {
  apiKey: string;
  apiSecret: string;
}

/** Makes a key pair. Source of the form: the contract's "Key and secret bodies". */
export function generateKeyPair(environment: Environment): KeyPair {
  return {
    apiKey: generateToken(KEY_PREFIX[environment]),
    apiSecret: generateToken(SECRET_PREFIX[environment]),
  };
}

/** 30 random base62 characters (178 bits) and 6 of CRC32, so that a scanner can reject typos. */
export function generateToken(prefix: string): string {
  const random = Array.from({ length: RANDOM_LENGTH }, () => BASE62[randomInt(62)]).join('');
  return prefix + random + checksum(prefix + random);
}

/** What the database keeps of a secret. */
export function hmacOfSecret(pepper: string, apiSecret: string): Buffer {
  return createHmac('sha256', pepper).update(apiSecret).digest();
}

/**
 * Compares in constant time. With no stored HMAC (an unknown key) it does the same work and says
 * no, so that an unknown key and a wrong secret take the same time.
 */
export function isSecret(
  pepper: string,
  apiSecret: string,
  storedHmac: Uint8Array | undefined,
): boolean {
  const given = hmacOfSecret(pepper, apiSecret);
  const expected = storedHmac ?? Buffer.alloc(given.length);
  return timingSafeEqual(given, expected) && storedHmac !== undefined;
}

function checksum(text: string): string {
  let rest = crc32(text);
  let encoded = '';
  while (encoded.length < CHECKSUM_LENGTH) {
    encoded = BASE62[rest % 62] + encoded;
    rest = Math.floor(rest / 62);
  }
  return encoded;
}
