import { PayordersError } from './errors.ts';
import type { Environment } from './types.ts';

/** What texts are often pasted with: white space, invisible characters and quotes. */
const AROUND = /^[\s\u200B-\u200D\u2060\uFEFF"'`“”‘’]|[\s\u200B-\u200D\u2060\uFEFF"'`“”‘’]$/;

/** What is wrong with the form of a key or a secret; undefined if nothing is. The text itself is never part of it. */
export function faultOfKey(text: string): string | undefined {
  if (text === '') return 'is empty';
  if (/[\r\n]$/.test(text)) return 'ends with a line break';
  if (AROUND.test(text)) return 'has white space or quotes around it';
  return /^[A-Za-z0-9_]+$/.test(text) ? undefined : 'has a character that none of its kind has';
}

const KEYS = { sandbox: ['mk_test_', 'sk_test_'], production: ['mk_live_', 'sk_live_'] } as const;

interface Keys {
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly environment: Environment;
}

/** @throws PayordersError `MALFORMED_CREDENTIALS` or `WRONG_ENVIRONMENT`, without the keys */
export function assertKeys({ apiKey, apiSecret, environment }: Keys): void {
  const named = [
    ['API key', apiKey, KEYS[environment][0]],
    ['API secret', apiSecret, KEYS[environment][1]],
  ] as const;
  const malformed = named.flatMap(([name, text]) => {
    const fault = faultOfKey(text);
    return fault === undefined ? [] : [`the ${name} ${fault}`];
  });
  if (malformed.length > 0) throw refusal('MALFORMED_CREDENTIALS', malformed.join(', '));
  const wrong = named
    .filter(([, text, prefix]) => !text.startsWith(prefix))
    .map(([name, , prefix]) => `the ${name} does not begin with ${prefix}`);
  if (wrong.length === 0) return;
  const message = `These are no credentials of the ${environment}: ${wrong.join(', ')}`;
  throw refusal('WRONG_ENVIRONMENT', message);
}

const BASE_PATHS = {
  sandbox: '/sandbox/api/merchant/v1',
  production: '/api/merchant/v1',
} as const;
const LOOPBACK = /^(localhost|127\.[0-9.]+|\[::1\])$/;

function faultOfUrl(text: string, environment: Environment): string | undefined {
  if (!URL.canParse(text) || !/^https?:\/\/\S+$/.test(text))
    return 'must begin with https:// and a host';
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return 'must not contain a user or password';
  if (/[?#]/.test(text)) return 'must not contain a query or fragment';
  if (`${url.pathname}/`.includes('/api/merchant/'))
    return 'must not contain the base path of the API';
  const isSafe = url.protocol === 'https:' || LOOPBACK.test(url.hostname);
  return environment === 'production' && !isSafe ? 'must be https in production' : undefined;
}

/** The URL before every path, without a slash at its end. @throws PayordersError `MALFORMED_BASE_URL` */
export function baseOf(baseUrl: string, environment: Environment): string {
  const fault = faultOfUrl(baseUrl, environment);
  if (fault !== undefined) throw refusal('MALFORMED_BASE_URL', `The base URL ${fault}`);
  return new URL(baseUrl).href.replace(/\/$/, '') + BASE_PATHS[environment];
}

/** @throws PayordersError `MALFORMED_IDEMPOTENCY_KEY` */
export function assertIdempotencyKey(key: string): void {
  if (/^[!-~]{1,255}$/.test(key)) return;
  const message = 'An idempotency key has 1 to 255 visible ASCII characters';
  throw refusal('MALFORMED_IDEMPOTENCY_KEY', message);
}

const refusal = (code: string, message: string) => new PayordersError(message, { status: 0, code });
