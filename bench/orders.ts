import { setTimeout as delay } from 'node:timers/promises';
import { createMerchantClient } from '../dev/load/client.ts';
import type { OrderRow } from '../src/orders/rows.ts';
import type { Order } from '../src/orders/schemas.ts';
import { orderInputOf } from '../src/orders/wake/wake-order.ts';
import { writeOrder } from './fixtures.ts';
import { timed } from './harness/rounds.ts';
import type { BenchService } from './servers.ts';

const POLL_MS = 50;

/** The concurrent requests of a merchant, or starts of workflows. */
export const CONCURRENCY = 32;

/** Sends a request of a merchant to the sandbox's API, again after a 429. @throws Error unless the response is 2xx */
export type Post = (path: string, body?: object) => Promise<Order>;

export function createClient({ facts, keys }: Pick<BenchService, 'facts' | 'keys'>): Post {
  const client = createMerchantClient(facts.apiBaseUrl, keys, { connections: CONCURRENCY });
  return async (path, body = {}) => {
    const { status, message, data } = await client.untilAnswered({ method: 'POST', path, body });
    if (data === null || status > 299) throw new Error(`POST ${path}: ${status} ${message}`);
    return data;
  };
}

/** Inserts the rows of orders as POST /orders does, without their workflows. */
export async function writeOrders(service: BenchService, count: number): Promise<OrderRow[]> {
  const orders: OrderRow[] = [];
  await timed({ count, concurrency: CONCURRENCY }, async () => {
    orders.push(await writeOrder(service, service.merchantId));
  });
  return orders;
}

/** Starts the workflows of orders. @returns the seconds until the last start has returned */
export function startWorkflows(service: BenchService, orders: readonly OrderRow[]) {
  const batch = { count: orders.length, concurrency: CONCURRENCY };
  return timed(batch, (index) => service.workflows.start(orderInputOf(orders[index] as OrderRow)));
}

/** Waits until the worker has begun every order, so that one side does not slow the next one. */
export async function waitUntilStarted({ sql }: BenchService): Promise<void> {
  while ((await sql`SELECT 1 FROM order_wakeups WHERE cause = 'creation' LIMIT 1`).length > 0)
    await delay(POLL_MS);
}
