import { equal } from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { payAsBuyer } from '../../dev/demo/buyer.ts';

/** The API of one environment, as a merchant calls it. */
export interface Merchant {
  /** URL of the orders: `…/sandbox/api/merchant/v1/orders` */
  readonly ordersUrl: string;
  readonly keys: { readonly apiKey: string; readonly apiSecret: string };
}

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

/** Counts of responses by status; `no answer` if none came. */
export type Answers = Map<string, number>;

/**
 * Five requests a second until it is stopped, whether or not those before them have been answered: an order is created,
 * read, cancelled (which needs a worker) and read again, and orders are listed.
 */
export function startTraffic(merchant: Merchant): { stop: () => Promise<Answers> } {
  const answers: Answers = new Map();
  const stopped = new AbortController();
  const running: Promise<void>[] = [];
  let [newest, uncancelled] = ['', ''];
  async function create(): Promise<Response> {
    const buyer = { buyerEmail: 'asha@example.com', buyerPhone: '+919876543210' };
    const created = await call(merchant, '', { amount: 10, description: 'Blue kurta', ...buyer });
    if (!created.ok) return created;
    newest = ((await created.json()) as { data: CreatedOrder }).data.order_number;
    uncancelled = newest;
    return created;
  }
  function cancel(): Promise<Response> {
    if (uncancelled === '') return call(merchant, '?size=5');
    const path = `/${uncancelled}/cancel`;
    uncancelled = '';
    return call(merchant, path, { reason: 'Out of stock' });
  }
  const read = () => call(merchant, newest === '' ? '?size=5' : `/${newest}`);
  const requests = [create, read, cancel, read, () => call(merchant, '?size=5')];
  async function counted(request: () => Promise<Response>): Promise<void> {
    const answer = await request().catch(() => undefined);
    const key = String(answer?.status ?? 'no answer');
    answers.set(key, (answers.get(key) ?? 0) + 1);
  }
  async function work(): Promise<void> {
    for (let turn = 0; !stopped.signal.aborted; turn += 1) {
      const request = requests[turn % requests.length];
      if (request) running.push(counted(request));
      await delay(PAUSE_MS, undefined, { signal: stopped.signal }).catch(() => undefined);
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
