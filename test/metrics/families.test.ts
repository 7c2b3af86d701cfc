import { expect } from 'vitest';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { proveLedger } from '../../src/ledger/proofs.ts';
import { orderMetrics } from '../../src/metrics/orders.ts';
import { createMetrics } from '../../src/metrics/registry.ts';
import { sealOrderBlocks } from '../../src/orders/lists/order-blocks.ts';
import { readOrderTotals } from '../../src/orders/lists/order-totals.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { samplesOf, valueOf } from './scraping.ts';
import { serveMetrics } from './served-metrics.ts';

const HOUR_MS = 3_600_000;

const test = serviceTest({ time: 'real' }).extend(
  'metrics',
  { scope: 'file' },
  async ({ service }, { onCleanup }) => {
    const served = await serveMetrics(service);
    onCleanup(() => served.stop());
    return served;
  },
);
test.afterEach(({ service }) => service.clock.set(0));

test('requests are counted by the path that their route declares, unknown paths together', async ({
  service,
  merchant,
  metrics,
}) => {
  for (const id of ['ORD0', 'ORD1']) await merchant.sandbox.get(`/orders/${id}`);
  const paths = ['/pay/a-secret-token', '/dashboard/login', '/no/such/path', '/another/one', '/x'];
  for (const path of paths) await fetch(service.origin + path);
  const count = 'http_request_duration_seconds_count';
  const countOf = async (route: string, status: string) =>
    valueOf(await metrics.scrape(), count, { method: 'GET', route, status });
  // A request is counted when its response has been sent.
  await expect.poll(() => countOf('/sandbox/api/merchant/v1/orders/{id}', '404')).toBe(2);
  await expect.poll(() => countOf('unmatched', '404')).toBe(3);
  await expect.poll(() => countOf('/dashboard/login', '200')).toBe(1);
  await expect.poll(() => countOf('/pay/{token}', '404')).toBe(1);
  const text = await metrics.scrape();
  expect(text).not.toMatch(/a-secret-token|no\/such|ORD0/);
});

test('attempts of webhooks are counted by outcome, and the oldest due one has its age', async ({
  service,
  orders,
  merchant,
  metrics,
}) => {
  const scraped = async (name: string, outcome?: string) =>
    valueOf(await metrics.scrape(), name, outcome ? { outcome } : {});
  await orders.start();
  await expect.poll(() => scraped('webhook_attempts_total', 'delivered')).toBe(1);
  // An attempt is counted when it has ended, and recorded right after.
  await expect.poll(() => scraped('webhook_oldest_due_seconds')).toBe(0);

  merchant.receiver.answerWith(() => 500);
  await orders.start();
  await expect.poll(() => scraped('webhook_attempts_total', 'rejected')).toBe(1);
  await expect.poll(() => scraped('webhook_attempt_duration_seconds_count')).toBe(2);
  await expect.poll(() => scraped('webhook_oldest_due_seconds')).toBe(0);
  const nextAttempts = await service.sql<{ at: Date }[]>`
    SELECT next_attempt_at AS at FROM webhook_deliveries WHERE state = 'PENDING'`;
  expect(nextAttempts).toHaveLength(1);
  await service.clock.stopAt(new Date(Number(nextAttempts[0]?.at) + 600_000));
  await expect.poll(() => scraped('webhook_oldest_due_seconds')).toBeCloseTo(600, 1);
});

test('calls to a gateway are counted by operation and outcome', async ({
  service,
  orders,
  gateway,
  metrics,
}) => {
  const call = { gateway: 'razorpay', environment: 'sandbox', operation: 'openSession' };
  const calls = async (outcome: string) =>
    valueOf(await metrics.scrape(), 'gateway_calls_total', { ...call, outcome });
  await orders.beingPaid();
  expect([await calls('done'), await calls('unavailable')]).toEqual([1, 0]);

  const { endFault } = await gateway.addFault({ kind: 'error', status: 503, work: 'never' });
  const port = service.deps.gateways.forOrder({ gateway: 'razorpay', environment: 'sandbox' });
  const session = { orderNumber: 'ORD0', sessionId: 'ps_0', amountPaise: 500, description: '' };
  const opening = port.openSession({ ...session, expiresAtMs: Date.now() + 900_000 });
  await expect(opening).rejects.toThrow('unavailable');
  await endFault();
  await expect(port.fetchPayment('pay_0')).rejects.toThrow('refused');
  const outcomes = ['done', 'unavailable', 'refused', 'stopped'];
  expect(await Promise.all(outcomes.map(calls))).toEqual([1, 1, 0, 0]);
  const text = await metrics.scrape();
  expect(valueOf(text, 'gateway_call_duration_seconds_count', call)).toBe(2);
  const fetching = { operation: 'fetchPayment', outcome: 'refused' };
  expect(valueOf(text, 'gateway_calls_total', fetching)).toBe(1);
});

test('orders are counted by environment and status, in blocks and outside of them', async ({
  service,
  orders,
}) => {
  const { sql, log, clock } = service;
  const metrics = createMetrics([orderMetrics(() => readOrderTotals(sql), { log, keepForMs: 0 })]);
  const counted = async () => {
    const samples = samplesOf(await metrics.text());
    const names = (name: string) =>
      samples.filter((sample) => sample.name === `payment_order_service_${name}`);
    return { orders: names('orders'), ages: names('orders_oldest_age_seconds') };
  };
  const expected = async () => {
    const rows = await sql<{ environment: string; status: string; count: number }[]>`
      SELECT environment, status, count(*)::integer FROM orders GROUP BY 1, 2`;
    return rows
      .map(({ environment, status, count }) => ({ labels: { environment, status }, value: count }))
      .map((each) => expect.objectContaining(each));
  };

  await Promise.all([orders.in('PAID'), orders.in('CANCELLED'), orders.in('DELIVERED')]);
  await orders.write({ environment: 'production' });
  const outside = await counted();
  expect(outside.orders).toHaveLength(2 * ORDER_STATUSES.length);
  expect(outside.orders).toEqual(expect.arrayContaining(await expected()));
  const total = (samples: { value: number }[]) =>
    samples.reduce((sum, { value }) => sum + value, 0);
  const orderCount = total(outside.orders);

  await clock.set(600_000);
  expect(await sealOrderBlocks(sql, 2)).toBeGreaterThanOrEqual(2);
  const later = orders.in('PAID');
  await later;
  const [oldest] = await sql<[{ at: Date }]>`
    SELECT min(created_at) AS at FROM orders WHERE status = 'PAID'`;
  await clock.stopAt(new Date(Number(oldest.at) + 700_000));
  const sealed = await counted();
  await clock.set(0);
  expect(sealed.orders).toEqual(expect.arrayContaining(await expected()));
  expect(total(sealed.orders)).toBe(orderCount + 1);
  const paid = sealed.ages.find(({ labels }) => labels['status'] === 'PAID')?.value;
  expect(paid).toBeCloseTo(700, 1);
  expect(sealed.ages.map(({ labels }) => labels['status'])).not.toContain('CANCELLED');
  metrics.close();
});

test('an order is overdue once its deadline has passed and nothing has begun', async ({
  service,
  orders,
}) => {
  const { sql, log, clock } = service;
  const metrics = createMetrics([orderMetrics(() => readOrderTotals(sql), { log, keepForMs: 0 })]);
  const overdueHours = async () => {
    const text = await metrics.text();
    const { ACCEPTED, DELIVERED, DISPUTE_OPEN, ...others } = Object.fromEntries(
      samplesOf(text)
        .filter(({ name }) => name === 'payment_order_service_orders_overdue_seconds')
        .map(({ labels, value }) => [labels['status'], Math.floor((value * 1000) / HOUR_MS)]),
    );
    expect(others).toEqual({ DISPUTE_UNDER_REVIEW: 0 });
    return [ACCEPTED, DELIVERED, DISPUTE_OPEN];
  };
  await Promise.all([orders.start(), orders.in('DELIVERED'), orders.in('DISPUTE_OPEN')]);
  expect(await overdueHours()).toEqual([0, 0, 0]);
  // The link expires and the order completes after 24 hours, a dispute must be answered within 72.
  await clock.set(25 * HOUR_MS);
  expect(await overdueHours()).toEqual([1, 1, 0]);
  await clock.set(73 * HOUR_MS);
  expect(await overdueHours()).toEqual([49, 49, 1]);
  await sql`
    UPDATE orders SET pending_operation = '{"kind":"releasing"}' WHERE status = 'DELIVERED'`;
  expect(await overdueHours()).toEqual([49, 0, 1]);
  await clock.set(0);
  metrics.close();
});

test('reconciliation lags behind by the time that a check at the gateway is overdue', async ({
  service,
  orders,
  metrics,
}) => {
  await orders.beingPaid();
  const lag = async () => valueOf(await metrics.scrape(), 'reconciliation_lag_seconds');
  const [first] = await service.sql<[{ checkAt: Date }]>`
    SELECT min(next_check_at) AS check_at FROM payment_sessions`;
  await service.clock.stopAt(first.checkAt);
  await expect.poll(lag).toBe(0);
  await service.clock.stopAt(new Date(Number(first.checkAt) + 300_000));
  await expect.poll(lag).toBeCloseTo(300, 1);
});

test('the proof of the ledger has no value before the first one, then its age and result', async ({
  service,
  metrics,
}) => {
  const proof = async () => {
    const text = await metrics.scrape();
    return [valueOf(text, 'ledger_proof_age_seconds'), valueOf(text, 'ledger_sound')];
  };
  expect(await proof()).toEqual([undefined, undefined]);
  const { sql, log } = service;
  const beforeMs = Date.now();
  await proveLedger({ sql, log });
  const [age] = await until(async () => {
    const [seconds, sound] = await proof();
    return sound === 1 && [seconds];
  });
  expect(age).toBeLessThanOrEqual((Date.now() - beforeMs) / 1000);

  await sql`UPDATE orders SET amount_paise = amount_paise + 1 WHERE status = 'DELIVERED'`;
  await proveLedger({ sql, log });
  await sql`UPDATE orders SET amount_paise = amount_paise - 1 WHERE status = 'DELIVERED'`;
  await expect.poll(async () => (await proof())[1]).toBe(0);
});

test('the backlog of a task queue grows while no worker runs, and is zero again afterwards', async ({
  worker,
  orders,
  metrics,
}) => {
  const scraped = async (name: string, labels: Record<string, string>) =>
    valueOf(await metrics.scrape(), name, labels);
  const workflows = { task_queue: TASK_QUEUE, type: 'workflow' };
  await expect.poll(() => scraped('task_queue_pollers', workflows)).toBe(1);
  const money = { task_queue: MONEY_TASK_QUEUE, type: 'activity' };
  await expect.poll(() => scraped('task_queue_backlog', money)).toBe(0);
  await worker.whileStopped(async () => {
    await Promise.all([orders.start(), orders.start(), orders.start()]);
    // An order of an earlier test may be woken for its webhook meanwhile.
    await expect.poll(() => scraped('task_queue_backlog', workflows)).toBeGreaterThanOrEqual(3);
    await expect
      .poll(() => scraped('task_queue_backlog_age_seconds', workflows))
      .toBeGreaterThan(0);
  });
  await expect.poll(() => scraped('task_queue_backlog', workflows)).toBe(0);
});
