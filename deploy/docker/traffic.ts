import { equal } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { payAsBuyer } from '../../dev/demo/buyer.ts';

/** The API of one environment, as a merchant calls it. */
export interface Merchant {
  /** Of the orders: `…/sandbox/api/merchant/v1/orders` */
  readonly ordersUrl: string;
  readonly keys: { readonly apiKey: string; readonly apiSecret: string };
}

/** What the check reads of an order. */
export interface CreatedOrder {
  readonly order_number: string;
  readonly payment_url: string;
}

const ORDER_TIMEOUT_MS = 60_000;
const ANSWER_TIMEOUT_MS = 15_000;
const PAUSE_MS = 200;

/** Calls the API; `body` makes it a POST. */
export function call({ ordersUrl, keys }: Merchant, path: string, body?: object) {
  return fetch(ordersUrl + path, {
    method: body ? 'POST' : 'GET',
    headers: {
      'X-API-Key': keys.apiKey,
      'X-API-Secret': keys.apiSecret,
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
  });
}

/** Creates an order with these texts about its buyer. @throws AssertionError unless the answer is 201 */
export async function createOrder(
  merchant: Merchant,
  texts: { description: string; buyerEmail: string; buyerPhone: string },
): Promise<CreatedOrder> {
  const created = await call(merchant, '', { amount: 499.5, ...texts });
  equal(created.status, 201, `an order is created: ${created.status}`);
  return ((await created.json()) as { data: CreatedOrder }).data;
}

/** Pays as the buyer does, and waits until the order is PAID. */
export async function payOrder(merchant: Merchant, order: CreatedOrder): Promise<void> {
  const signal = AbortSignal.timeout(ORDER_TIMEOUT_MS);
  await payAsBuyer(order.payment_url, signal);
  for (let status = ''; status !== 'PAID'; await delay(PAUSE_MS)) {
    const answer = await call(merchant, `/${order.order_number}`);
    ({ status } = ((await answer.json()) as { data: { status: string } }).data);
    signal.throwIfAborted();
  }
}

/** Answers by status; a request without one is `no answer`. */
export type Answers = Map<string, number>;

/**
 * Five requests a second until it is stopped: each second creates an order, which needs a worker to be cancelled, and
 * reads it. A request begins whether or not those before it have been answered.
 */
export function startTraffic(merchant: Merchant): { stop: () => Promise<Answers> } {
  const answers: Answers = new Map();
  const stopped = new AbortController();
  const running = new Set<Promise<unknown>>();
  async function counted(path: string, body?: object): Promise<Response | undefined> {
    const answer = await call(merchant, path, body).catch(() => undefined);
    const key = String(answer?.status ?? 'no answer');
    answers.set(key, (answers.get(key) ?? 0) + 1);
    return answer;
  }
  async function second(): Promise<void> {
    const buyer = { buyerEmail: 'asha@example.com', buyerPhone: '+919876543210' };
    const created = await counted('', { amount: 10, description: 'Blue kurta', ...buyer });
    if (!created?.ok) return;
    const { data } = (await created.json()) as { data: CreatedOrder };
    await delay(PAUSE_MS);
    await counted(`/${data.order_number}`);
    await delay(PAUSE_MS);
    await counted(`/${data.order_number}/cancel`, { reason: 'Out of stock' });
    await delay(PAUSE_MS);
    await counted(`/${data.order_number}`);
    await counted('?limit=5');
  }
  async function work(): Promise<void> {
    while (!stopped.signal.aborted) {
      const one = second().finally(() => running.delete(one));
      running.add(one);
      await delay(5 * PAUSE_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
    await Promise.all(running);
  }
  const done = work();
  return {
    async stop() {
      stopped.abort();
      await done;
      return answers;
    },
  };
}
