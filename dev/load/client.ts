import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request as sendRequest, type Dispatcher } from 'undici';
import type { Environment } from '../../src/domain/index.ts';
import { BASE_PATHS } from '../../src/http/base-paths.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import type { Order } from '../../src/orders/schemas.ts';

/** An answer may wait for the gateway and for a worker that takes over. */
const ANSWER_TIMEOUT_MS = 20_000;
/** The waits of a client after no answer or a 5xx; a 429 says how long. Source: the specification's "Client handling rules". */
const WAITS_MS = [1000, 2000, 4000, 8000];
/** Refusals that pass: the merchant is suspended, or sends too much. */
const REPEATED = [403, 429];
/** Longer than any outage of a run, also on a machine that is busy with other runs. */
const REPEATED_FOR_MS = 600_000;

/** What an HTTP request is made of; a text as body is sent as it is. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** An HTTP answer; without one, the status is 0 and the text says why. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends one request, and follows no redirect. Never throws. */
export async function exchange(
  url: string,
  { method, headers = {}, body }: HttpRequest,
  dispatcher?: Dispatcher,
): Promise<HttpAnswer> {
  try {
    const answer = await sendRequest(url, {
      method,
      headers,
      signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      ...(body !== undefined && { body }),
      ...(dispatcher && { dispatcher }),
    });
    const text = await answer.body.text();
    return { status: answer.statusCode, headers: answer.headers, text };
  } catch (error) {
    return { status: 0, headers: {}, text: String(error) };
  }
}

/** One request of a merchant. */
export interface MerchantRequest {
  readonly method: 'GET' | 'POST';
  /** Below the base path of its environment. */
  readonly path: string;
  readonly idempotencyKey?: string;
  readonly body?: object;
}

/** An order, or a payment session. */
type OrderData = Order & { readonly upi_intent?: string };

/** The answer to a request. */
export interface Answer<Data = OrderData> {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly atMs: number;
  readonly ms: number;
  /** 0 without a complete answer. */
  readonly status: number;
  readonly message: string;
  /** What a 429 says. */
  readonly retryAfterMs: number | undefined;
  /** Whether it says that it repeats an earlier answer. */
  readonly isReplay: boolean;
  readonly data: Data | null;
}

/** An answer without its data. */
export type SeenAnswer = Omit<Answer, 'data'>;

/** How a client differs from what the specification asks of clients. */
export interface ClientOptions {
  /** The sandbox unless it is given. */
  readonly environment?: Environment;
  readonly waitsMs?: readonly number[];
  /** How long it repeats; 0 sends each request once. */
  readonly repeatedForMs?: number;
  /** The most connections at a time. */
  readonly connections?: number;
  /** Added to each request. */
  readonly headers?: () => Readonly<Record<string, string>>;
}

/** A merchant's backend. */
export interface MerchantClient {
  /** Every answer so far without its data, also those that were repeated. */
  readonly answers: readonly SeenAnswer[];
  /** Sends the request once. Never throws. */
  send<Data = OrderData>(request: MerchantRequest): Promise<Answer<Data>>;
  /**
   * Repeats the request until the answer is none of 5xx, 429 and 403: each time with its Idempotency-Key,
   * or with a new one that it gets. A 403 says that the merchant is suspended, and a run ends that; an earlier try
   * without an answer may have been carried out.
   *
   * @param onAnswer receives each answer
   * @throws Error without such an answer, after ten minutes
   */
  untilAnswered<Data = OrderData>(
    request: MerchantRequest,
    onAnswer?: (answer: Answer<Data>) => void,
  ): Promise<Answer<Data>>;
}

/** @param origin of the API or its balancer */
export function createMerchantClient(
  origin: string,
  { apiKey, apiSecret }: KeyPair,
  {
    environment = 'sandbox',
    waitsMs = WAITS_MS,
    repeatedForMs = REPEATED_FOR_MS,
    connections,
    headers,
  }: ClientOptions = {},
): MerchantClient {
  const answers: SeenAnswer[] = [];
  const dispatcher = connections === undefined ? undefined : new Agent({ connections });

  async function send<Data>(request: MerchantRequest): Promise<Answer<Data>> {
    const { method, path, idempotencyKey, body } = request;
    const atMs = Date.now();
    const startedAt = performance.now();
    const sent = {
      method,
      headers: {
        'X-API-Key': apiKey,
        'X-API-Secret': apiSecret,
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers?.(),
      },
      body: body && JSON.stringify(body),
    };
    const answer = await exchange(`${origin}${BASE_PATHS[environment]}${path}`, sent, dispatcher);
    const { data, ...said } = contentOf(answer);
    const isReplay = answer.headers['idempotent-replayed'] === 'true';
    const waitS = answer.status === 429 ? answer.headers['retry-after'] : undefined;
    const retryAfterMs = waitS === undefined ? undefined : Number(waitS) * 1000;
    const ms = performance.now() - startedAt;
    const seen = { method, path, atMs, ms, retryAfterMs, isReplay, ...said };
    answers.push(seen);
    return { ...seen, data: data as Data | null };
  }

  async function untilAnswered<Data>(
    request: MerchantRequest,
    onAnswer?: (answer: Answer<Data>) => void,
  ): Promise<Answer<Data>> {
    const endsAt = performance.now() + repeatedForMs;
    const key = request.method === 'POST' ? { idempotencyKey: randomUUID() } : {};
    const repeated = { ...key, ...request };
    for (let tries = 0; ; tries += 1) {
      const answer = await send<Data>(repeated);
      const { method, path, status, message, retryAfterMs } = answer;
      onAnswer?.(answer);
      if (status !== 0 && status < 500 && !REPEATED.includes(status)) return answer;
      if (performance.now() >= endsAt) {
        throw new Error(`${method} ${path} has no answer; the latest: ${status} ${message}`);
      }
      await delay(retryAfterMs ?? waitsMs[Math.min(tries, waitsMs.length - 1)]);
    }
  }

  return { answers, send, untilAnswered };
}

function contentOf({ status, text }: HttpAnswer) {
  const none = { status, message: text, data: null };
  if (status === 0) return none;
  try {
    const { message, data } = JSON.parse(text) as { message: string; data: unknown };
    return { status, message, data };
  } catch {
    // A balancer's own answer, or one that was cut off.
    return status < 500 ? { ...none, status: 0 } : none;
  }
}
