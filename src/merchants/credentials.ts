import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Environment } from '../domain/index.ts';
import { generateToken } from '../tokens.ts';

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

/** What the database keeps of a secret. */
export function hmacOfSecret(pepper: string, apiSecret: string): Buffer {
  return createHmac('sha256', pepper).update(apiSecret).digest();
}

/** Compares in constant time. */
export function isSecret(pepper: string, apiSecret: string, storedHmac: Uint8Array): boolean {
  return timingSafeEqual(hmacOfSecret(pepper, apiSecret), storedHmac);
}
