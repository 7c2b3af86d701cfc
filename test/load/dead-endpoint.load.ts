import { env } from 'node:process';
import { expect } from 'vitest';
import type { EventType } from '../../src/domain/index.ts';
import { deadEndpointTest, merchantWithEndpoint } from '../support/dead-endpoint.ts';
import { inParallel } from '../support/in-parallel.ts';
import type { Merchant } from '../support/merchant.ts';
import { startOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';

const DEAD_ORDERS = Number(env['LOAD_DEAD_ORDERS'] ?? 5000);
const HEALTHY_ORDERS = Number(env['LOAD_HEALTHY_ORDERS'] ?? 200);
const WARM_UP_ORDERS = 20;
const STARTS_AT_ONCE = 32;
const LIVES_AT_ONCE = 4;
const COMPLETION_WINDOW_SECONDS = 1;
const MOST_TIMES = 1.5;

const test = deadEndpointTest({
  COMPLETION_WINDOW_SECONDS: String(COMPLETION_WINDOW_SECONDS),
});

/** The duration of each part of an order's lifecycle in milliseconds. */
interface Life {
  pay: number;
  deliver: number;
  release: number;
  webhooks: number;
}

/** Runs an order from its creation to its release, as a merchant does. */
async function liveOnce({ sandbox, receiver }: Merchant): Promise<Life> {
  const order = await sandbox.create();
  const arrival = async (event: EventType) => {
    const [webhook] = await receiver.until(
      1,
      ({ event: type, body }) => type === event && body.data['order_number'] === order.order_number,
    );
    return { at: webhook!.at, delayMs: webhook!.at - Date.parse(webhook!.body.timestamp) };
  };
  const timed = async (work: () => Promise<{ status: number }>) => {
    const startedAt = performance.now();
    const { status } = await work();
    expect(status).toBe(200);
    return performance.now() - startedAt;
  };
  const pay = await timed(() => sandbox.help(order, 'pay'));
  await arrival('PAYMENT_SUCCESS');
  const deliver = await timed(() => sandbox.post(`/orders/${order.order_number}/deliver`));
  const delivered = await sandbox.read(order);
  const completed = await arrival('ORDER_COMPLETED');
  const completesAt = Date.parse(delivered.completes_at ?? delivered.updated_at);
  const events = [
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'DELIVERY_CONFIRMED',
    'ORDER_COMPLETED',
  ] as const;
  const delays = (await Promise.all(events.map(arrival))).map(({ delayMs }) => delayMs);
  const webhooks = delays.reduce((sum, delayMs) => sum + delayMs, 0) / delays.length;
  return { pay, deliver, release: completed.at - completesAt, webhooks };
}

/** The median of each part over a number of orders. */
async function measureLives(merchant: Merchant, count: number): Promise<Life> {
  const lives: Life[] = [];
  await inParallel(Array.from({ length: count }), LIVES_AT_ONCE, async () =>
    lives.push(await liveOnce(merchant)),
  );
  const medianOf = (part: keyof Life) => {
    const sorted = lives.map((life) => life[part]).toSorted((one, other) => one - other);
    return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  };
  return {
    pay: medianOf('pay'),
    deliver: medianOf('deliver'),
    release: medianOf('release'),
    webhooks: medianOf('webhooks'),
  };
}

/** Waits until every webhook of these orders has been attempted or waits for a later time. */
async function startDeadOrders(service: TestService, merchant: Merchant): Promise<void> {
  await inParallel(Array.from({ length: DEAD_ORDERS }), STARTS_AT_ONCE, () =>
    startOrder(service, merchant),
  );
  await expect
    .poll(() => notAttempted(service, merchant), { timeout: 1_800_000, interval: 1000 })
    .toBe(0);
}

async function notAttempted({ sql }: TestService, { merchantId }: Merchant): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::integer FROM webhook_deliveries d
    WHERE merchant_id = ${merchantId} AND attempt_token IS NULL AND next_attempt_at <= created_at`;
  return row?.count ?? 0;
}

const rounded = (life: Life) =>
  Object.fromEntries(Object.entries(life).map(([part, ms]) => [part, Math.round(ms as number)]));

test(`beside ${DEAD_ORDERS} orders of an endpoint that never responds, ${HEALTHY_ORDERS} others are as fast as without`, async ({
  service,
  endpoint,
}) => {
  const healthy = await service.newMerchant();
  await measureLives(healthy, WARM_UP_ORDERS);
  const without = await measureLives(healthy, HEALTHY_ORDERS);
  const dead = await merchantWithEndpoint(service, endpoint.urlAt('127.0.9.1'));
  const startedAt = performance.now();
  await startDeadOrders(service, dead);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${DEAD_ORDERS} orders of a dead endpoint started in ${seconds} s`);
  const beside = await measureLives(healthy, HEALTHY_ORDERS);
  console.log('median milliseconds without and beside them:', rounded(without), rounded(beside));
  for (const part of ['pay', 'deliver', 'release', 'webhooks'] as const) {
    expect(beside[part] / without[part], part).toBeLessThanOrEqual(MOST_TIMES);
  }
});
