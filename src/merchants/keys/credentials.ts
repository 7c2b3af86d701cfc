import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Environment } from '../../domain/index.ts';
import { ENVIRONMENTS } from '../../domain/index.ts';
import { generateToken } from '../../tokens.ts';

const KEY_PREFIX = { sandbox: 'mk_test_', production: 'mk_live_' } as const;
const SECRET_PREFIX = { sandbox: 'sk_test_', production: 'sk_live_' } as const;

/** Recognises a key or a secret, and its environment, by the prefix. */
function formOf(text: string): { kind: 'key' | 'secret'; environment: Environment } | undefined {
  for (const environment of ENVIRONMENTS) {
    if (text.startsWith(KEY_PREFIX[environment])) return { kind: 'key', environment };
    if (text.startsWith(SECRET_PREFIX[environment])) return { kind: 'secret', environment };
  }
  return undefined;
}

/**
 * The message of a 401. It depends only on the form of the credentials, never on the database, so it tells a
 * stranger nothing.
 *
 * @param environment the environment of the request's base path
 */
export function explainRefusal(
  environment: Environment,
  { apiKey, apiSecret }: KeyPair,
): string | undefined {
  if (!apiKey && !apiSecret) return 'The X-API-Key and X-API-Secret headers are missing';
  if (!apiKey) return 'The X-API-Key header is missing';
  if (!apiSecret) return 'The X-API-Secret header is missing';
  const [key, secret] = [formOf(apiKey), formOf(apiSecret)];
  if (key?.kind === 'secret' && secret?.kind === 'key') {
    return 'X-API-Key and X-API-Secret are swapped';
  }
  if (key?.kind === 'secret') return 'X-API-Key contains an API secret';
  if (secret?.kind === 'key') return 'X-API-Secret contains an API key';
  const other = ENVIRONMENTS.find((one) => one !== environment);
  if (key?.environment === other) return `X-API-Key is a ${other} key; this is the ${environment}`;
  if (secret?.environment !== other) return undefined;
  return `X-API-Secret is a ${other} secret; this is the ${environment}`;
}

/** A merchant's key pair for one environment. Nothing else has the secret in clear text. */
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

/** What the database stores instead of a secret. */
export interface StoredSecret {
  secretHmac: Buffer;
  /** Identifies the pepper of the HMAC: see {@link pepperIdOf}. */
  pepperId: string;
}

const peppersOf = (setting: string): string[] => setting.split(',');

const hmacWith = (pepper: string, apiSecret: string) =>
  createHmac('sha256', pepper).update(apiSecret).digest();

/** The id of a pepper: 8 hexadecimal digits of an HMAC, from which the pepper cannot be computed. */
const pepperIdOf = (pepper: string) => hmacWith(pepper, 'id of this pepper').toString('hex', 0, 4);

/** The ids of the configured peppers, the newest first. @param setting API_SECRET_PEPPER */
export const pepperIdsOf = (setting: string): string[] => peppersOf(setting).map(pepperIdOf);

/** The HMAC of a secret with the newest pepper. @param setting API_SECRET_PEPPER */
export function storedSecretOf(setting: string, apiSecret: string): StoredSecret {
  const [newest = ''] = peppersOf(setting);
  return { secretHmac: hmacWith(newest, apiSecret), pepperId: pepperIdOf(newest) };
}

/**
 * Checks a secret against a stored HMAC with each pepper. It tries all of them and compares in constant time, so the
 * time does not tell which one fits.
 *
 * @param setting API_SECRET_PEPPER
 */
export function verifySecret(setting: string, apiSecret: string, storedHmac: Uint8Array): boolean {
  const fits = peppersOf(setting).map((pepper) =>
    timingSafeEqual(hmacWith(pepper, apiSecret), storedHmac),
  );
  return fits.includes(true);
}
