import { expect } from 'vitest';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { createReadiness } from '../../src/http/readiness.ts';
import { proveLedger } from '../../src/ledger/proofs.ts';
import { startMetrics } from '../../src/main/metrics.ts';
import { orderMetrics } from '../../src/metrics/orders.ts';
import { createMetrics } from '../../src/metrics/registry.ts';
import { sealOrderBlocks } from '../../src/orders/order-blocks.ts';
import { readOrderTotals } from '../../src/orders/order-totals.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { startTcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { samplesOf, valueOf } from './scraping.ts';

/** The metrics of this process, in which the service under test runs. */
async function serve(
  { config, log, temporal: { client } }: TestService,
  { databaseUrl = config.databaseUrl ?? '', temporal = client } = {},
) {
  const metricsPort = await freePort();
  const measured = { name: 'api', readiness: createReadiness({}), databaseUrl, temporal, log };
  const { stop } = await startMetrics({ host: '127.0.0.1', metricsPort }, measured);
  const scrape = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return { stop, scrape };
}

const HOUR_MS = 3_600_000;

const test = serviceTest({ time: 'real' }).extend(
  'metrics',
  { scope: 'file' },
  async ({ service }, { onCleanup }) => {
    const served = await serve(service);
    onCleanup(() => served.stop());
    return served;
  },
);

/** Waits until a value of a metric is this one. */
const eventually = (read: () => unknown) => expect.poll(read, { timeout: 30_000, interval: 50 });

test('requests are counted by the path that their route declares, unknown paths together', async ({
  service,
  merchant,
  metrics,
}) => {
  for (const id of ['ORD0', 'ORD1']) await merchant.sandbox.get(`/orders/${id}`);
  const paths = ['/pay/a-secret-token', '/dashboard/login', '/no/such/path', '/another/one', '/x'];
  for (const path of paths) await fetch(service.origin + path);
  const text = await metrics.scrape();
  const countOf = (route: string, status: string) =>
    valueOf(text, 'http_request_duration_seconds_count', { method: 'GET', route, status });
  expect(countOf('/sandbox/api/merchant/v1/orders/{id}', '404')).toBe(2);
  expect(countOf('unmatched', '404')).toBe(3);
  expect(countOf('/dashboard/login', '200')).toBe(1);
  expect(countOf('/pay/{token}', '404')).toBe(1);
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
  await eventually(() => scraped('webhook_attempts_total', 'delivered')).toBe(1);
  expect(await scraped('webhook_oldest_due_seconds')).toBe(0);

  merchant.receiver.answerWith(() => 500);
  await orders.start();
  await eventually(() => scraped('webhook_attempts_total', 'rejected')).toBe(1);
  expect(await scraped('webhook_attempt_duration_seconds_count')).toBe(2);
  const [firstWaitMs = 0] = service.deps.retryDelaysMs;
  await eventually(() => scraped('webhook_oldest_due_seconds')).toBe(0);
  await service.clock.set(firstWaitMs + 600_000);
  const seconds = await scraped('webhook_oldest_due_seconds');
  await service.clock.set(0);
  expect(seconds).toBeGreaterThan(590);
  expect(seconds).toBeLessThan(660);
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
  expect(outside.orders).toHaveLength(16);
  expect(outside.orders).toEqual(expect.arrayContaining(await expected()));
  const total = (samples: { value: number }[]) =>
    samples.reduce((sum, { value }) => sum + value, 0);
  const orderCount = total(outside.orders);

  await clock.set(600_000);
  expect(await sealOrderBlocks(sql, 2)).toBeGreaterThanOrEqual(2);
  const later = orders.in('PAID');
  await later;
  const sealed = await counted();
  await clock.set(0);
  expect(sealed.orders).toEqual(expect.arrayContaining(await expected()));
  expect(total(sealed.orders)).toBe(orderCount + 1);
  const paid = sealed.ages.find(({ labels }) => labels['status'] === 'PAID')?.value;
  expect(paid).toBeGreaterThanOrEqual(600);
  expect(paid).toBeLessThan(700);
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
  expect(await lag()).toBe(0);
  // Sessions are checked after two minutes.
  await service.clock.set(420_000);
  const seconds = await lag();
  await service.clock.set(0);
  expect(seconds).toBeGreaterThanOrEqual(299);
  expect(seconds).toBeLessThan(360);
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
  await proveLedger({ sql, log });
  const [age, sound] = await proof();
  expect(age).toBeLessThan(60);
  expect(sound).toBe(1);

  await sql`UPDATE orders SET amount_paise = amount_paise + 1 WHERE status = 'DELIVERED'`;
  await proveLedger({ sql, log });
  await sql`UPDATE orders SET amount_paise = amount_paise - 1 WHERE status = 'DELIVERED'`;
  expect((await proof())[1]).toBe(0);
});

test('the backlog of a task queue grows while no worker runs, and is zero again afterwards', async ({
  worker,
  orders,
  metrics,
}) => {
  const scraped = async (name: string, labels: Record<string, string>) =>
    valueOf(await metrics.scrape(), name, labels);
  const workflows = { task_queue: TASK_QUEUE, type: 'workflow' };
  expect(await scraped('task_queue_pollers', workflows)).toBe(1);
  const money = { task_queue: MONEY_TASK_QUEUE, type: 'activity' };
  expect(await scraped('task_queue_backlog', money)).toBe(0);
  await worker.whileStopped(async () => {
    await Promise.all([orders.start(), orders.start(), orders.start()]);
    await eventually(() => scraped('task_queue_backlog', workflows)).toBe(3);
    await eventually(() => scraped('task_queue_backlog_age_seconds', workflows)).toBeGreaterThan(0);
  });
  await eventually(() => scraped('task_queue_backlog', workflows)).toBe(0);
});

test('a scrape answers while PostgreSQL and Temporal do not, and has the rest', async ({
  service,
}) => {
  const databaseUrl = new URL(service.config.databaseUrl ?? '');
  const postgres = await startTcpProxy(databaseUrl.host);
  const server = await startTcpProxy(service.temporal.address);
  databaseUrl.host = postgres.address;
  const { namespace } = service.temporal;
  const temporal = connectTemporal({ address: server.address, namespace });
  const metrics = await serve(service, { databaseUrl: databaseUrl.href, temporal });
  const families = async () => {
    const names = samplesOf(await metrics.scrape()).map(({ name }) => name);
    return [
      'payment_order_service_orders',
      'payment_order_service_alerts_open',
      'payment_order_service_reconciliation_lag_seconds',
      'payment_order_service_task_queue_backlog',
      'payment_order_service_webhook_attempts_total',
    ].filter((name) => names.includes(name));
  };
  expect(await families()).toHaveLength(5);
  postgres.hang();
  server.hang();
  const startedAtMs = performance.now();
  // The counts of orders are those of up to half a minute ago.
  const remaining = [
    'payment_order_service_orders',
    'payment_order_service_webhook_attempts_total',
  ];
  expect(await families()).toEqual(remaining);
  expect(performance.now() - startedAtMs).toBeLessThan(8_000);
  expect(await families()).toEqual(remaining);
  const lines = service.logged.filter(({ msg }) => msg === 'The metrics could not be read');
  expect(lines.map((line) => String('what' in line && line.what)).toSorted()).toEqual([
    'the lag of the reconciliation',
    'the oldest due webhook',
    'the open alerts',
    'the proof of the ledger',
    'the task queues',
  ]);
  await postgres.forward();
  await server.forward();
  await eventually(families).toHaveLength(5);
  await metrics.stop();
  await Promise.all([postgres.stop(), server.stop()]);
});
