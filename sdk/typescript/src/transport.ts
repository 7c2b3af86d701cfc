import { errorOf, PayordersError } from './errors.ts';
import { assertIdempotencyKey, assertKeys, baseOf } from './settings.ts';
import type { Environment } from './types.ts';

export interface ClientOptions {
  /** `mk_test_…` or `mk_live_…`. */
  readonly apiKey: string;
  /** `sk_test_…` or `sk_live_…`. */
  readonly apiSecret: string;
  /** Refuses keys of the other environment before the first request. */
  readonly environment: Environment;
  /** Such as `https://pay.example.com`, without the base path. */
  readonly baseUrl: string;
  /** How often a request is sent again after no response, 429, 500, 502, 503 or 504; 4 if absent. */
  readonly maxRetries?: number;
  /** For one attempt, in milliseconds; 30,000 if absent. */
  readonly timeoutMs?: number;
  /** Replaces the global `fetch`, such as by one with a proxy. */
  readonly fetch?: (request: Request) => Promise<Response>;
  /** Replaces the wait between attempts, for tests. */
  readonly sleep?: (ms: number) => Promise<void>;
}

/** Options of a call that changes something. */
export interface CallOptions {
  /** Two calls with one key are one command. By default, each call gets a new key. */
  readonly idempotencyKey?: string;
}

/** One call of the API. */
export interface Call {
  readonly method: 'GET' | 'POST';
  /** The path below the base path. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: object;
  readonly idempotencyKey?: string | undefined;
  /** Adds `replayed` to its data: whether an earlier call with the key has the result. */
  readonly showsReplay?: true;
}

/** Sends a call and returns the `data` of its response. @throws PayordersError */
export type Send = <Data>(call: Call) => Promise<Data>;

/** No wait is longer, whatever a proxy asks for, because the caller waits, too. */
const MOST_DELAY_MS = 60_000;

/** What `Retry-After` asks for, in milliseconds: seconds or a date; 0 without it. */
function askedMs(retryAfter: string | null, nowMs: number): number {
  if (retryAfter === null) return 0;
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const dateMs = Date.parse(retryAfter);
  return Number.isNaN(dateMs) ? 0 : dateMs - nowMs;
}

/**
 * The wait before a retry, in milliseconds: 1, 2, 4, 8 s, less up to a quarter, or what the service asks for; at most a
 * minute.
 */
export function retryDelayMs(
  retry: number,
  retryAfter: string | null,
  random: () => number = Math.random,
): number {
  const ownMs = 1000 * 2 ** Math.min(retry, 3) * (1 - random() / 4);
  return Math.min(MOST_DELAY_MS, Math.max(askedMs(retryAfter, Date.now()), ownMs));
}

const sleepFor = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

function requestOf(
  { base, apiKey, apiSecret, timeoutMs = 30_000 }: ClientOptions & { readonly base: string },
  call: Call,
  idempotencyKey: string | undefined,
): Request {
  const url = new URL(base + call.path);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return new Request(url, {
    method: call.method,
    headers: {
      'X-API-Key': apiKey,
      'X-API-Secret': apiSecret,
      ...(call.body && { 'Content-Type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
    },
    ...(call.body && { body: JSON.stringify(call.body) }),
    // Redirects are not followed, so that credentials go to no other address.
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
}

/** The JSON of a response; undefined if it has none, such as a proxy's. */
async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws PayordersError `IDEMPOTENCY_KEY_MISMATCH` */
function assertOwnResult({ status, headers }: Response): void {
  if (headers.get('Idempotency-Key-Mismatch') !== 'true') return;
  const message = 'The idempotency key was used before with another body, whose result stands';
  const requestId = headers.get('X-Request-Id') ?? undefined;
  throw new PayordersError(message, { status, code: 'IDEMPOTENCY_KEY_MISMATCH', requestId });
}

type Result =
  | { data: unknown; isReplayed: boolean }
  | { error: PayordersError; retryAfter: string | null };

/** One attempt. @throws PayordersError for an answer that belongs to another call */
async function attempt(
  fetchOnce: () => Promise<Response>,
  hidden: readonly string[],
): Promise<Result> {
  try {
    const response = await fetchOnce();
    const body = await jsonOf(response);
    if (!response.ok || typeof body !== 'object' || body === null) {
      const error = errorOf(response.status, response.headers, body);
      return { error, retryAfter: response.headers.get('Retry-After') };
    }
    assertOwnResult(response);
    const isReplayed = response.headers.get('Idempotent-Replayed') === 'true';
    return { data: (body as { data?: unknown }).data, isReplayed };
  } catch (error) {
    if (error instanceof PayordersError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    const shown = hidden.reduce((text, one) => text.replaceAll(one, '[hidden]'), why);
    const message = `The service did not answer: ${shown}`;
    // An error that quotes a header is not kept as the cause.
    const cause = shown === why ? error : undefined;
    const facts = { status: 0, code: 'NO_RESPONSE', isRetryable: true, cause };
    return { error: new PayordersError(message, facts), retryAfter: null };
  }
}

/**
 * Makes the function that sends the calls of a client. A call that changes something has one idempotency
 * key for all of its attempts.
 *
 * @throws PayordersError `MALFORMED_CREDENTIALS`, `MALFORMED_BASE_URL`, or `WRONG_ENVIRONMENT` for keys of the other
 *   environment
 */
export function createTransport(options: ClientOptions): Send {
  assertKeys(options);
  const { apiKey, apiSecret, maxRetries = 4, sleep = sleepFor, fetch: send = fetch } = options;
  const settings = { ...options, base: baseOf(options.baseUrl, options.environment) };
  return async function call<Data>(asked: Call): Promise<Data> {
    const key = asked.method === 'POST' ? (asked.idempotencyKey ?? crypto.randomUUID()) : undefined;
    if (key !== undefined) assertIdempotencyKey(key);
    for (let retry = 0; ; retry += 1) {
      const request = requestOf(settings, asked, key);
      const result = await attempt(() => send(request), [apiKey, apiSecret]);
      if ('data' in result) {
        const { data, isReplayed } = result;
        return (asked.showsReplay ? { ...(data as object), replayed: isReplayed } : data) as Data;
      }
      if (!result.error.isRetryable || retry >= maxRetries) throw result.error;
      await sleep(retryDelayMs(retry, result.retryAfter));
    }
  };
}
