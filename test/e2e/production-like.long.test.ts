import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acceptsConnections, statusOf } from '../../dev/processes/ports.ts';
import { isRunning, processTree, sendSignal } from '../../dev/processes/process-table.ts';
import { startProductionLike, type ProductionLike } from '../../dev/production-like/start.ts';
import { loadConfig } from '../../src/config.ts';
import { connectDatabase } from '../../src/db/client.ts';
import type { OrderStatus } from '../../src/domain/index.ts';
import { WAITING_FOR_GATEWAY } from '../../src/payments/gateway/gateway-slots.ts';
import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import { createApiClient, type OrderRef } from '../support/api-client.ts';
import { createTestMerchant, type Merchant } from '../support/merchant.ts';
import { moduleUrl, runScript } from '../support/script-process.ts';
import { UNTIL_MS } from '../support/time-limits.ts';
import { until } from '../support/until.ts';

const SETTINGS = { RATE_LIMIT_PER_SECOND: '100000' };
const DAY_SECONDS = 24 * 3600;
const CONNECTIONS_OF_AN_API = 10;

let dataDir: string;
let shape: ProductionLike;
let merchant: Merchant;
let completed: OrderRef;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'merchant-orders-shape-'));
  shape = await startProductionLike({ dataDir, settings: SETTINGS });
  const config = loadConfig(shape.facts.environment);
  const sql = connectDatabase(shape.databaseUrl, { name: 'test', maxConnections: 1 });
  const now = async () => Date.now();
  merchant = await createTestMerchant({ config, sql, origin: shape.apiBaseUrl, now }, {});
  await sql.end();
});

afterAll(async () => {
  await shape?.stop();
  await merchant?.receiver.stop();
  await rm(dataDir, { recursive: true, force: true });
});

/** Creates an order: again with the same key when the answer is a 500 or is lost. */
function createOrder(): Promise<OrderRef> {
  const key = { 'Idempotency-Key': randomUUID() };
  const created = () => merchant.sandbox.create({}, key).catch(() => null);
  return until(created);
}

/** Waits until the answers of the API say so: one can be a 500, or be lost with a process. */
const untilAnswered = (check: () => Promise<boolean>) => until(() => check().catch(() => false));

/** Repeats a call until the order has the status. */
const untilStatus = (order: OrderRef, status: OrderStatus, call: () => Promise<unknown>) =>
  untilAnswered(async () => {
    await call();
    return (await merchant.sandbox.read(order)).status === status;
  });

const isEverythingSent = ({ entries }: Timeline) =>
  entries.every(({ webhook }) => webhook === null || webhook.delivery?.state === 'DELIVERED');

test('an order passes its lifecycle through the balancer while processes are killed', async () => {
  const { sandbox, receiver } = merchant;
  const order = await createOrder();

  shape.member('api-1').signal('SIGKILL');
  await untilStatus(order, 'PAID', () => sandbox.help(order, 'pay'));

  shape.member('worker-1').signal('SIGKILL');
  await untilStatus(order, 'DELIVERED', () => sandbox.command(order, 'deliver'));

  const postgres = shape.member('postgres');
  // Only the postmaster: its backends still use the data directory when it is started again.
  sendSignal(postgres.pid ?? 0, 'SIGKILL');
  await untilStatus(order, 'DISPUTE_OPEN', () =>
    sandbox.help(order, 'dispute', { reason: 'The parcel has not arrived.' }),
  );

  shape.member('temporal').signal('SIGKILL');
  await untilStatus(order, 'DELIVERED', () =>
    sandbox.command(order, 'dispute/resolve', { resolution: 'Sent again' }),
  );
  await untilStatus(order, 'COMPLETED', () =>
    sandbox.help(order, 'advance', { seconds: DAY_SECONDS }),
  );

  // A webhook that was under way when its process was killed comes later than the next ones.
  const events = () => [
    ...new Map(receiver.received.map(({ body }) => [body.sequence, body.event])),
  ];
  await expect
    .poll(() => events().toSorted(([a], [b]) => a - b))
    .toEqual([
      [1, 'ORDER_CREATED'],
      [2, 'PAYMENT_SUCCESS'],
      [3, 'DELIVERY_CONFIRMED'],
      [4, 'DISPUTE_RAISED'],
      [5, 'DISPUTE_RESOLVED'],
      [6, 'ORDER_COMPLETED'],
    ]);
  await Promise.all(shape.members.map((member) => member.untilReady()));
  const restarts = shape.members.map(({ name, restarts: count }) => [name, count] as const);
  expect(Object.fromEntries(restarts.filter(([, count]) => count > 0))).toMatchObject({
    'api-1': 1,
    'worker-1': 1,
    postgres: 1,
    temporal: 1,
  });
  completed = order;
});

test('the orders of a killed worker continue on the other one', async () => {
  const { sandbox } = merchant;
  // Each worker has some of them cached.
  const orders = await Promise.all(Array.from({ length: 10 }, createOrder));
  const forEach = (call: (order: OrderRef) => Promise<unknown>) => Promise.all(orders.map(call));
  await forEach((order) => untilStatus(order, 'PAID', () => sandbox.help(order, 'pay')));
  await forEach((order) =>
    untilAnswered(async () => isEverythingSent(await sandbox.timeline(order))),
  );
  shape.member('worker-1').signal('SIGKILL');
  await forEach((order) =>
    untilStatus(order, 'DELIVERED', () => sandbox.command(order, 'deliver')),
  );
  await shape.member('worker-1').untilReady();
});

test('an API that stops completes the requests that it has', async () => {
  const order = await createOrder();
  // Without the balancer, which breaks off the connections of an API that is busy for a second.
  const [apiUrl = ''] = shape.apiUrls;
  const { hostname, port } = new URL(apiUrl);
  const stopping = createApiClient(apiUrl, merchant.keys.sandbox, 'sandbox');
  // It holds its lock without a word for as long as the test waits.
  const statementTimeoutMs = UNTIL_MS;
  const sql = connectDatabase(shape.databaseUrl, { maxConnections: 1, statementTimeoutMs });
  const watch = connectDatabase(shape.databaseUrl, { name: 'watch', maxConnections: 1 });
  const api = shape.member('api-1');
  const { pid } = api;
  if (pid === undefined) throw new Error('The API does not run');
  const { cancelled } = await sql.begin(async (tx) => {
    await tx`SELECT FROM orders WHERE order_number = ${order.order_number} FOR UPDATE`;
    const cancel = () => stopping.command(order, 'cancel');
    // As many as the API takes from one merchant at the same time: more than it has connections.
    const { ofOne } = WAITING_FOR_GATEWAY;
    const answers = Promise.allSettled(Array.from({ length: ofOne }, cancel));
    await until(async () => {
      const waiting = await watch`
        SELECT FROM pg_stat_activity
        WHERE application_name = 'api' AND wait_event_type = 'Lock'`;
      return waiting.length >= CONNECTIONS_OF_AN_API;
    });
    // Not stop, which kills a process that has not ended after four seconds.
    sendSignal(pid, 'SIGTERM');
    await until(async () => !(await acceptsConnections(hostname, Number(port))));
    return { cancelled: answers };
  });
  await until(() => !isRunning(pid));
  await Promise.all([sql.end(), watch.end()]);
  const statuses = (await cancelled).map((answer) =>
    answer.status === 'fulfilled' ? answer.value.status : String(answer.reason),
  );
  await api.untilReady();
  // The contract's own time-out is 500; a connection that is broken off is not.
  expect(statuses.filter((status) => ![200, 400, 500].includes(Number(status)))).toEqual([]);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
  await untilStatus(order, 'CANCELLED', async () => {});
});

test('a frozen API leaves the rotation while it is frozen, and returns', async () => {
  const [first = '', second = ''] = shape.apiUrls;
  await until(() => shape.rotation().length === 2);
  shape.member('api-1').signal('SIGSTOP');
  await until(() => !shape.rotation().includes(first));
  // On a busy machine the other one may be too slow for a check, too.
  const six = Array.from({ length: 6 });
  const answers = () => Promise.all(six.map(() => statusOf(`${shape.apiBaseUrl}/healthz`)));
  await expect.poll(answers).toEqual(six.map(() => '200'));
  await expect.poll(() => shape.rotation()).toEqual([second]);
  shape.member('api-1').signal('SIGCONT');
  await until(() => shape.rotation().includes(first));
});

test('an API that is cut off from Temporal leaves the rotation, and returns', async () => {
  const [first = ''] = shape.apiUrls;
  const link = shape.link('api-1', 'temporal');
  await link.refuse();
  await until(() => !shape.rotation().includes(first));
  await expect.poll(() => statusOf(`${first}/readyz`)).toBe('503');
  await link.forward();
  await until(() => shape.rotation().includes(first));
});

test('each API and worker serves its metrics, and all write their logs into the folder', async () => {
  expect(Object.keys(shape.metricsUrls)).toEqual(['api-1', 'api-2', 'worker-1', 'worker-2']);
  const urls = Object.values(shape.metricsUrls);
  const statuses = () => Promise.all(urls.map((url) => statusOf(url)));
  await expect.poll(statuses).toEqual(['200', '200', '200', '200']);
  for (const { name, logFile } of shape.members) {
    expect(logFile).toBe(join(dataDir, 'logs', `${name}.log`));
    expect(await readFile(logFile, 'utf8'), name).not.toBe('');
  }
});

test('a second start continues from the folder; kill -9 of the supervisor leaves nothing', async () => {
  await shape.stop();
  const supervisor = runScript(`
    import { startProductionLike } from '${moduleUrl('dev/production-like/start.ts')}';
    const options = { dataDir: '${dataDir}', settings: ${JSON.stringify(SETTINGS)}, apis: 1, workers: 1 };
    const shape = await startProductionLike(options);
    process.on('SIGUSR2', () => {
      shape.member('postgres').signal('SIGSTOP');
      console.log('frozen');
    });
    console.log(shape.apiBaseUrl);
  `);
  const origin = await supervisor.nextLine();
  const client = createApiClient(origin, merchant.keys.sandbox, 'sandbox');
  await untilAnswered(async () => (await client.read(completed)).status === 'COMPLETED');
  sendSignal(supervisor.pid, 'SIGUSR2');
  expect(await supervisor.nextLine()).toBe('frozen');
  const pids = processTree(supervisor.pid);
  // The supervisor, its guard, six members and PostgreSQL's own processes.
  expect(pids.length).toBeGreaterThan(12);
  await supervisor.kill();
  await expect.poll(() => pids.filter(isRunning)).toEqual([]);
});
