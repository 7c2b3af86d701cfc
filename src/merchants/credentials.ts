import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Environment } from '../domain/index.ts';
import { generateToken } from '../tokens.ts';

const KEY_PREFIX = { sandbox: 'mk_test_', production: 'mk_live_' } as const;
const SECRET_PREFIX = { sandbox: 'sk_test_', production: 'sk_live_' } as const;

/** A merchant's key pair for one environment; the only place with the secret in clear text. */
export interface KeyPair {
  apiKey: string;
  apiSecret: string;
}

/** Generates a key pair. Source of the format: the contract's "Key and secret bodies". */
export function generateKeyPair(environment: Environment): KeyPair {
  return {
    apiKey: generateToken(KEY_PREFIX[environment]),
    apiSecret: generateToken(SECRET_PREFIX[environment]),
  };
}

/** The HMAC of a secret, which the database stores instead of the secret. */
export function hmacOfSecret(pepper: string, apiSecret: string): Buffer {
  return createHmac('sha256', pepper).update(apiSecret).digest();
}

/** Whether the secret has the stored HMAC; compares in constant time. */
export function verifySecret(pepper: string, apiSecret: string, storedHmac: Uint8Array): boolean {
  return timingSafeEqual(hmacOfSecret(pepper, apiSecret), storedHmac);
}
