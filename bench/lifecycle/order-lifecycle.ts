import { createMerchantClient } from '../../dev/load/client.ts';
import type { Receiver } from '../../dev/load/receiver.ts';
import type { KeyPair } from '../../src/merchants/keys/credentials.ts';
import { ORDER } from '../fixtures.ts';

/** The calls of one client, in this order; after them the order completes by itself. */
export const CALLS = ['create', 'pay', 'deliver', 'advance'] as const;
export type CallName = (typeof CALLS)[number];

/** The completion window, by which `advance` moves the order's clock. */
const WINDOW_SECONDS = 24 * 3600;

/** The four webhooks of an order that is created, paid, delivered and completed. */
const WEBHOOKS_PER_ORDER = 4;

/** After no answer or a 5xx, the client repeats the request soon; a 429 says when. */
const WAITS_MS = [250];

/** From `advance` to the webhook, including the retry of a lost activity. */
const WEBHOOK_TIMEOUT_MS = 120_000;

export interface Merchant extends KeyPair {
  origin: string;
}

export interface Observations {
  /** Milliseconds of each call, including its retries, and of whole lifecycles. */
  readonly ms: Record<CallName | 'lifecycle', number[]>;
  /** The number of responses other than 2xx, and of requests without a response, by call and status. */
  readonly errors: Map<string, number>;
  readonly failures: string[];
}

export function newObservations(): Observations {
  return {
    ms: { create: [], pay: [], deliver: [], advance: [], lifecycle: [] },
    errors: new Map(),
    failures: [],
  };
}

/** A merchant's client. @param concurrency the number of connections, one for each concurrent lifecycle */
export function createLifecycleClient(merchant: Merchant, receiver: Receiver, concurrency: number) {
  const options = { waitsMs: WAITS_MS, connections: concurrency };
  const client = createMerchantClient(merchant.origin, merchant, options);

  async function call(seen: Observations, name: CallName, path: string, body: object) {
    const startedAt = performance.now();
    const { status, message, data } = await client.untilAnswered(
      { method: 'POST', path, body },
      (answer) => {
        if (answer.status >= 200 && answer.status < 300) return;
        const error = `${name} ${answer.status === 0 ? 'without an answer' : answer.status}`;
        seen.errors.set(error, (seen.errors.get(error) ?? 0) + 1);
      },
    );
    if (data === null || status >= 300) throw new Error(`${name} ${status}: ${message}`);
    seen.ms[name].push(performance.now() - startedAt);
    return data;
  }

  /** Creates an order. @returns its number */
  async function createOrder(seen: Observations): Promise<string> {
    return (await call(seen, 'create', '/orders', ORDER)).order_number;
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
    const signal = AbortSignal.timeout(WEBHOOK_TIMEOUT_MS);
    await receiver.until(id, 'ORDER_COMPLETED', signal);
    seen.ms.lifecycle.push(performance.now() - startedAt);
    await receiver.until(id, ({ length }) => length === WEBHOOKS_PER_ORDER, signal);
  }

  return { createOrder, runLifecycle, answers: client.answers };
}
