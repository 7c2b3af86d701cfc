/**
 * `npm run check -- restarts`: kills every process of `npm start` with SIGKILL and immediately runs it
 * again, twenty times, with orders in every status. Each start must succeed by itself, find each order
 * unchanged, and bring a new order from its creation to DELIVERED. Exits with 0 if all of them do.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { DevFacts } from '../../dev/dev-facts.ts';
import { startGuard } from '../../dev/processes/guard.ts';
import { freePortSettings } from '../../dev/processes/ports.ts';
import { sendSignal } from '../../dev/processes/process-table.ts';
import { countOption, readCommandLine } from '../../src/main/process/command-line.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { createApiClient, type ApiAnswer, type ApiClient } from '../support/api-client.ts';
import { runNpm, untilReady } from '../support/npm-run.ts';

const { values: options } = readCommandLine({
  usage: 'npm run check -- restarts',
  does: 'Kills every process of npm start and immediately runs it again, with orders in every status. It exits with 0 if each start finds each order unchanged and serves a new one.',
  options: { rounds: countOption(20, 'kills') },
});
const ROUNDS = options.rounds;
const STATUS_TIMEOUT_MS = 60_000;
const DAY_SECONDS = 24 * 3600;

const print = (line: string) => process.stdout.write(`${line}\n`);

function data({ status, body }: ApiAnswer): Order {
  if (status >= 300) throw new Error(`${status}: ${body.message}`);
  return body.data;
}

/** How an order gets to each status after its creation. */
const WAYS: Record<Order['status'], (api: ApiClient, order: Order) => Promise<void>> = {
  ACCEPTED: async () => undefined,
  async PAID(api, order) {
    data(await api.help(order, 'pay'));
  },
  async DELIVERED(api, order) {
    await WAYS.PAID(api, order);
    data(await api.post(`/orders/${order.order_number}/deliver`));
  },
  async DISPUTE_OPEN(api, order) {
    await WAYS.PAID(api, order);
    data(await api.help(order, 'dispute', { reason: 'The parcel has not arrived.' }));
  },
  async DISPUTE_UNDER_REVIEW(api, order) {
    await WAYS.DISPUTE_OPEN(api, order);
    const evidence = { text: 'The courier has a signature.' };
    data(await api.post(`/orders/${order.order_number}/dispute/evidence`, evidence));
  },
  async COMPLETED(api, order) {
    await WAYS.DELIVERED(api, order);
    data(await api.help(order, 'advance', { seconds: DAY_SECONDS }));
  },
  async REFUNDED(api, order) {
    await WAYS.DISPUTE_OPEN(api, order);
    data(await api.post(`/orders/${order.order_number}/dispute/accept`));
  },
  async CANCELLED(api, order) {
    data(await api.post(`/orders/${order.order_number}/cancel`));
  },
};

async function untilStatus(api: ApiClient, { order_number: number }: Order, wanted: string) {
  const deadline = Date.now() + STATUS_TIMEOUT_MS;
  for (;;) {
    const { status } = data(await api.get(`/orders/${number}`));
    if (status === wanted) return;
    if (Date.now() > deadline) throw new Error(`${number} is ${status}, not ${wanted}`);
    await delay(100);
  }
}

/** One order in each status. @returns each with the status it must keep */
async function createOrders(api: ApiClient): Promise<Map<Order, string>> {
  const statuses = Object.keys(WAYS) as Order['status'][];
  const orders = await Promise.all(
    statuses.map(async (status) => {
      const order = await api.create({ amount: 499.5 });
      await WAYS[status](api, order);
      await untilStatus(api, order, status);
      return [order, status] as const;
    }),
  );
  return new Map(orders);
}

const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-restarts-'));
const dataDir = join(folder, 'data');
const guard = await startGuard([folder]);
const settings = {
  ...(await freePortSettings()),
  DATA_DIR: dataDir,
  RATE_LIMIT_PER_SECOND: '1000',
};

async function start(): Promise<{
  run: ReturnType<typeof runNpm>;
  api: ApiClient;
  facts: DevFacts;
}> {
  const run = runNpm(['start'], settings);
  guard.watch(run.pid, 'SIGTERM');
  void run.ended.then(() => guard.unwatch(run.pid));
  const facts = await untilReady(run, dataDir);
  const api = createApiClient(facts.apiBaseUrl, facts.demoMerchant.sandbox, 'sandbox');
  return { run, api, facts };
}

let service = await start();
try {
  const orders = await createOrders(service.api);
  print(`${orders.size} orders, one in each status: ${[...orders.values()].join(', ')}`);
  for (let round = 1; round <= ROUNDS; round += 1) {
    for (const pid of service.run.family()) sendSignal(pid, 'SIGKILL');
    const startedAt = performance.now();
    service = await start();
    const readyMs = performance.now() - startedAt;
    for (const [order, status] of orders) await untilStatus(service.api, order, status);
    const order = await service.api.create();
    await WAYS.DELIVERED(service.api, order);
    orders.set(order, 'DELIVERED');
    print(
      `start ${round}: ready after ${(readyMs / 1000).toFixed(1)} s, ${orders.size} orders right`,
    );
  }
  print(`${ROUNDS} passed, 0 failed`);
} catch (error) {
  print(String(error));
  process.exitCode = 1;
} finally {
  await service.run.stop();
  await guard.release();
  await rm(folder, { recursive: true, force: true });
}
