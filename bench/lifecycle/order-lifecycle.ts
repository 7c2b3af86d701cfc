import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import { ORDER } from '../fixtures.ts';
import type { Receiver } from './receiver.ts';

/** The calls of one client, in this order; after them the order completes by itself. */
export const CALLS = ['create', 'pay', 'deliver', 'advance'] as const;
/** The name of a call. */
export type CallName = (typeof CALLS)[number];

/** The completion window, by which `advance` moves the order's clock. */
const WINDOW_SECONDS = 24 * 3600;

/** After a 5xx, the client repeats the request with the same Idempotency-Key. */
const MAX_ATTEMPTS = 10;
const RETRY_AFTER_MS = 250;
const CALL_TIMEOUT_MS = 30_000;

/** From `advance` to the webhook, including the retry of a lost activity. */
const WEBHOOK_TIMEOUT_MS = 120_000;

/** A merchant's access to the sandbox API. */
export interface Merchant extends KeyPair {
  /** The sandbox's address with its base path. */
  url: string;
}

/** The measurements of a round. */
export interface Observations {
  /** Milliseconds of each call, including its retries, and of whole lifecycles. */
  readonly ms: Record<CallName | 'lifecycle', number[]>;
  /** The number of responses other than 2xx, and of calls without one, by call and status. */
  readonly errors: Map<string, number>;
  /** The reasons of failed lifecycles. */
  readonly failures: string[];
}

/** The measurements of a round that has not started. */
export function newObservations(): Observations {
  return {
    ms: { create: [], pay: [], deliver: [], advance: [], lifecycle: [] },
    errors: new Map(),
    failures: [],
  };
}

/** A merchant's client. @param concurrency the number of connections, one for each concurrent lifecycle */
export function createLifecycleClient(merchant: Merchant, receiver: Receiver, concurrency: number) {
  const dispatcher = new Agent({ connections: concurrency, bodyTimeout: CALL_TIMEOUT_MS });

  async function attempt(path: string, body: object, idempotencyKey: string) {
    const answer = await request(`${merchant.url}${path}`, {
      method: 'POST',
      dispatcher,
      headersTimeout: CALL_TIMEOUT_MS,
      headers: {
        'content-type': 'application/json',
        'x-api-key': merchant.apiKey,
        'x-api-secret': merchant.apiSecret,
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  async function call(seen: Observations, name: CallName, path: string, body: object) {
    const idempotencyKey = randomUUID();
    const startedAt = performance.now();
    for (let attempts = 1; ; attempts += 1) {
      const { status, text } = await attempt(path, body, idempotencyKey).catch(withoutResponse);
      if (status >= 200 && status < 300) {
        seen.ms[name].push(performance.now() - startedAt);
        return JSON.parse(text) as { data: { order_number: string } };
      }
      const error = `${name} ${status === 0 ? 'without an answer' : status}`;
      seen.errors.set(error, (seen.errors.get(error) ?? 0) + 1);
      const isRetryable = status === 0 || status >= 500;
      if (!isRetryable || attempts === MAX_ATTEMPTS) throw new Error(`${error}: ${text}`);
      await delay(RETRY_AFTER_MS);
    }
  }

  /** Creates an order. @returns its number */
  async function createOrder(seen: Observations): Promise<string> {
    const { data } = await call(seen, 'create', '/orders', ORDER);
    return data.order_number;
  }

  /**
   * Runs one lifecycle: create, pay, deliver, advance a day, and wait for ORDER_COMPLETED at the receiver.
   *
   * @throws Error when a call fails or a webhook does not arrive
   */
  async function runLifecycle(seen: Observations): Promise<void> {
    const startedAt = performance.now();
    const id = await createOrder(seen);
    await call(seen, 'pay', `/test-helpers/orders/${id}/pay`, {});
    await call(seen, 'deliver', `/orders/${id}/deliver`, {});
    await call(seen, 'advance', `/test-helpers/orders/${id}/advance`, { seconds: WINDOW_SECONDS });
    await withinTimeout(
      receiver.until(id, 'ORDER_COMPLETED'),
      `ORDER_COMPLETED of ${id} did not arrive`,
    );
    seen.ms.lifecycle.push(performance.now() - startedAt);
    await withinTimeout(receiver.untilAll(id), `One of the four webhooks of ${id} did not arrive`);
  }

  return { createOrder, runLifecycle };
}

function withoutResponse(error: unknown) {
  return { status: 0, text: String(error) };
}

async function withinTimeout(arrival: Promise<void>, reason: string): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(reason)), WEBHOOK_TIMEOUT_MS);
  await Promise.race([arrival, late.promise]).finally(() => clearTimeout(timer));
}
