import { setTimeout as delay } from 'node:timers/promises';
import { BASE_PATHS } from '../../../src/http/base-paths.ts';
import type { KeyPair } from '../../../src/merchants/credentials.ts';
import type { Order } from '../../../src/orders/schemas.ts';

const CALL_TIMEOUT_MS = 15_000;
const RETRY_AFTER_MS = 500;
/** Longer than any outage of a drill. */
const RETRIES_END_AFTER_MS = 180_000;

/** One HTTP request: what the API answered, and how long that took. */
export interface Answer {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly atMs: number;
  readonly ms: number;
  /** 0 without a response. */
  readonly status: number;
  readonly message: string;
  readonly data: Order | null;
}

/** Calls the sandbox as a merchant's backend does. */
export interface Client {
  /** Every answer so far, also those that were retried. */
  readonly answers: Answer[];
  get(path: string): Promise<Answer>;
  /** Repeats the call with its Idempotency-Key until the answer is below 500, for three minutes. */
  post(path: string, idempotencyKey: string, body?: object): Promise<Answer>;
}

/** @param baseUrl without the base path of the sandbox */
export function createClient(baseUrl: string, { apiKey, apiSecret }: KeyPair): Client {
  const answers: Answer[] = [];
  async function call(
    method: 'GET' | 'POST',
    path: string,
    headers: Record<string, string> = {},
    body?: object,
  ): Promise<Answer> {
    const atMs = Date.now();
    const startedAt = performance.now();
    const { status, message, data } = await fetchJson(`${baseUrl}${BASE_PATHS.sandbox}${path}`, {
      method,
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      headers: {
        'X-API-Key': apiKey,
        'X-API-Secret': apiSecret,
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const ms = performance.now() - startedAt;
    const answer = { method, path, atMs, ms, status, message, data };
    answers.push(answer);
    return answer;
  }
  return {
    answers,
    get: (path) => call('GET', path),
    async post(path, idempotencyKey, body) {
      const deadline = Date.now() + RETRIES_END_AFTER_MS;
      for (;;) {
        const answer = await call('POST', path, { 'Idempotency-Key': idempotencyKey }, body);
        const isFailed = answer.status === 0 || answer.status >= 500;
        if (!isFailed || Date.now() > deadline) return answer;
        await delay(RETRY_AFTER_MS);
      }
    },
  };
}

async function fetchJson(url: string, init: RequestInit) {
  try {
    const response = await fetch(url, init);
    const { message, data } = (await response.json()) as Pick<Answer, 'message' | 'data'>;
    return { status: response.status, message, data };
  } catch (error) {
    const { cause = error } = error as Error;
    return { status: 0, message: String(cause), data: null };
  }
}
