import { setTimeout as delay } from 'node:timers/promises';
import { payAsBuyer } from '../dev/demo/buyer.ts';
import { startMerchant, type LoadMerchant } from '../dev/load/merchant.ts';
import type { Receiver } from '../dev/load/receiver.ts';
import { billableActions, eventNames } from '../dev/orders/history.ts';
import type { Order } from '../src/orders/schemas.ts';
import { ORDER } from './fixtures.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { createLifecycleClient, newObservations } from './lifecycle/order-lifecycle.ts';
import { timed } from './harness/rounds.ts';
import type { Post } from './orders.ts';
import { CONCURRENCY, createClient } from './orders.ts';
import { growthOf, readStorage, unitOf } from './storage.ts';
import type { BenchService } from './servers.ts';
import { withService } from './servers.ts';

const ORDERS_OF_EACH_KIND = 5;
const LIFECYCLES_PER_ROUND = { full: 300, quick: 60 };
const ROUNDS = { full: 5, quick: 2 };
/**
 * Longer than a webhook takes, so that each has arrived before the next step, as in production, and than lifecycles
 * beside each other wait for their turn to `advance`.
 */
const COMPLETION_WINDOW_SECONDS = 30;
/** PostgreSQL's connections report what they have written at the latest 10 s after they are idle. */
const STATISTICS_DELAY_MS = 11_000;
const POLL_MS = 100;
const PAYMENT_TIMEOUT_MS = 60_000;
const REASON = 'The parcel never arrived, says the buyer.';

/** What one order costs Temporal and PostgreSQL. */
export const benchmark: Benchmark = {
  description: 'What one order costs Temporal and PostgreSQL.',
  run: ({ quick }) =>
    withService(
      { settings: { COMPLETION_WINDOW_SECONDS: String(COMPLETION_WINDOW_SECONDS) } },
      async (service) => {
        const size = quick ? 'quick' : 'full';
        const merchant = await startMerchant(service.facts, { actor: 'bench' });
        const histories = await measureHistories(service, merchant);
        const rounds = { count: ROUNDS[size], lifecycles: LIFECYCLES_PER_ROUND[size] };
        const storage = await measureStorage(service, merchant, rounds);
        merchant.receiver.stop();
        return { measurements: [...histories, ...storage] };
      },
    ),
};

type Run = (post: Post, receiver: Receiver, order: Order) => Promise<void>;

const KINDS: Record<string, Run> = {
  async completed(post, receiver, order) {
    await payAndDeliver(post, receiver, order);
    await receiver.until(order.order_number, 'ORDER_COMPLETED');
  },
  async disputed(post, receiver, order) {
    const { order_number: id } = order;
    await payAndDeliver(post, receiver, order);
    await post(`/test-helpers/orders/${id}/dispute`, { reason: REASON });
    await receiver.until(id, 'DISPUTE_RAISED');
    await post(`/orders/${id}/dispute/accept`);
    await receiver.until(id, 'REFUND_PROCESSED');
  },
  async cancelled(post, receiver, { order_number: id }) {
    await post(`/orders/${id}/cancel`);
    await receiver.until(id, 'ORDER_CANCELLED');
  },
};

async function payAndDeliver(post: Post, receiver: Receiver, order: Order) {
  const { order_number: id, payment_url } = order;
  await payAsBuyer(payment_url, AbortSignal.timeout(PAYMENT_TIMEOUT_MS));
  await receiver.until(id, 'PAYMENT_SUCCESS');
  await post(`/orders/${id}/deliver`);
  await receiver.until(id, 'DELIVERY_CONFIRMED');
}

/** The histories of orders of each kind; a round is one order. */
async function measureHistories(
  service: BenchService,
  { keys, receiver }: LoadMerchant,
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  const post = createClient({ facts: service.facts, keys });
  for (const [kind, run] of Object.entries(KINDS)) {
    const figures = { events: [] as number[], actions: [] as number[], bytes: [] as number[] };
    for (let index = 0; index < ORDERS_OF_EACH_KIND; index += 1) {
      const order = await post('/orders', ORDER);
      await receiver.until(order.order_number, 'ORDER_CREATED');
      await run(post, receiver, order);
      const handle = service.client.workflow.getHandle(order.order_number);
      await handle.result();
      const names = await eventNames(handle);
      figures.events.push(names.length);
      figures.actions.push(billableActions(names));
      figures.bytes.push((await handle.describe()).historySize ?? Number.NaN);
    }
    console.log(`${kind}: ${JSON.stringify(figures)}`);
    measurements.push(
      { id: `events-${kind}`, title: kind, unit: 'history events', rounds: figures.events },
      { id: `actions-${kind}`, title: kind, unit: 'billable actions', rounds: figures.actions },
      { id: `bytes-${kind}`, title: kind, unit: 'bytes of history', rounds: figures.bytes },
    );
  }
  return measurements;
}

/** What PostgreSQL writes for whole lifecycles of orders. */
async function measureStorage(
  { facts, ownerSql, sql }: BenchService,
  { keys, receiver }: LoadMerchant,
  rounds: { count: number; lifecycles: number },
): Promise<Measurement[]> {
  const { runLifecycle: run } = createLifecycleClient(
    { origin: facts.apiBaseUrl, ...keys },
    receiver,
    CONCURRENCY,
  );
  const grown: Record<string, number>[] = [];
  for (let round = 0; round <= rounds.count; round += 1) {
    const before = await readStorage(ownerSql);
    const seen = newObservations();
    await timed({ count: rounds.lifecycles, concurrency: CONCURRENCY }, () => run(seen));
    await waitUntilClosed(sql);
    await delay(STATISTICS_DELAY_MS);
    const after = await readStorage(ownerSql);
    if (round > 0) grown.push(growthOf(before, after, rounds.lifecycles));
  }
  const [body] = await sql<[{ bytes: number }]>`
    SELECT avg(octet_length(body::text))::float8 AS bytes FROM order_events`;
  const storage = Object.keys(grown[0] ?? {}).map((title) => ({
    id: title,
    title,
    unit: unitOf(title),
    rounds: grown.map((one) => one[title] ?? 0),
  }));
  const title = 'the body of a webhook';
  return [...storage, { id: 'webhook-body', title, unit: 'bytes', rounds: [body.bytes] }];
}

/** Waits until every order is final and no delivery is PENDING. */
async function waitUntilClosed(sql: BenchService['sql']): Promise<void> {
  for (;;) {
    const [row] = await sql<[{ open: boolean }]>`
      SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE state = 'PENDING') AS open`;
    if (!row.open) return;
    await delay(POLL_MS);
  }
}
