import { setTimeout as delay } from 'node:timers/promises';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import type { Order } from '../../src/orders/schemas.ts';

/** A complete answer of the API. */
export interface Answer<Data = Order & { readonly upi_intent?: string }> {
  readonly status: number;
  readonly isReplay: boolean;
  readonly message: string;
  readonly data: Data;
}

/** One request of a merchant. */
export interface MerchantRequest {
  readonly method: 'GET' | 'POST';
  /** Below the sandbox's base path. */
  readonly path: string;
  readonly idempotencyKey?: string;
  readonly body?: object;
}

/** An answer may wait for the gateway and for a worker that takes over. */
const ANSWER_TIMEOUT_MS = 20_000;
/** Answers after which a client tries again, beside 5xx: a merchant that is suspended gets 403. */
const AGAIN = [429, 403];
/** The waits of a client after no answer, a 5xx or a 429. Source: the specification's "Client handling rules". */
const WAITS_MS = [1000, 2000, 4000, 8000];
const REPEATED_FOR_MS = 300_000;

/** A merchant's backend, which calls the API through the balancer. */
export interface MerchantClient {
  /** Sends the request once. @throws Error without a complete answer */
  send(request: MerchantRequest): Promise<Answer>;
  /**
   * Repeats the request, with its Idempotency-Key, until the answer is neither 5xx nor 429 nor 403.
   *
   * @throws Error after five minutes
   */
  untilAnswered<Data = Answer['data']>(request: MerchantRequest): Promise<Answer<Data>>;
}

/** @param origin of the balancer */
export function createMerchantClient(origin: string, keys: KeyPair): MerchantClient {
  async function send<Data = Answer['data']>(request: MerchantRequest): Promise<Answer<Data>> {
    const { method, path, idempotencyKey, body } = request;
    const response = await fetch(`${origin}${BASE_PATHS.sandbox}${path}`, {
      method,
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      headers: {
        'X-API-Key': keys.apiKey,
        'X-API-Secret': keys.apiSecret,
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const { message, data } = (await response.json()) as Pick<Answer<Data>, 'message' | 'data'>;
    const isReplay = response.headers.get('Idempotent-Replayed') === 'true';
    return { status: response.status, isReplay, message, data };
  }

  async function untilAnswered<Data = Answer['data']>(
    request: MerchantRequest,
  ): Promise<Answer<Data>> {
    const endsAt = performance.now() + REPEATED_FOR_MS;
    for (let tries = 0; ; tries += 1) {
      const answer = await send<Data>(request).catch((error: unknown) => error as Error);
      const isAnswer = !(answer instanceof Error);
      if (isAnswer && answer.status < 500 && !AGAIN.includes(answer.status)) return answer;
      if (performance.now() > endsAt) {
        const latest =
          answer instanceof Error ? String(answer) : `${answer.status} ${answer.message}`;
        throw new Error(`${request.method} ${request.path} has no answer; the latest: ${latest}`);
      }
      await delay(WAITS_MS[Math.min(tries, WAITS_MS.length - 1)]);
    }
  }

  return { send, untilAnswered };
}
