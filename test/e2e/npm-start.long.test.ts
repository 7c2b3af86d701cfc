import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort } from '../../dev/processes/ports.ts';
import { findProcesses, sendSignal } from '../../dev/processes/process-table.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { adminProcess } from '../support/admin-cli.ts';
import { anOrder } from '../support/api-client.ts';
import { REPOSITORY } from '../support/npm-run.ts';
import { repeated } from '../support/repeated.ts';
import { until } from '../support/until.ts';
import { npmService, untilGone } from './npm-service.ts';

/** The tests run in order, and each continues where the one before ended. */
const npm = npmService();
const { dataDir, sandbox } = npm;

/** A request whose answer may come too late on a busy machine: repeated with one key until it comes. */
const answered = (method: string, path: string, body?: unknown) => {
  const key = { 'Idempotency-Key': randomUUID() };
  return repeated(() => sandbox().call(method, path, body, key));
};
const read = async ({ order_number: number }: Order) =>
  (await repeated(() => sandbox().get(`/orders/${number}`))).body.data;

async function paidOrder(): Promise<Order> {
  const { data } = (await answered('POST', '/orders', anOrder())).body;
  return (await answered('POST', `/test-helpers/orders/${data.order_number}/pay`)).body.data;
}

/** A delivered order whose clock was moved to just before its end. */
interface EndingOrder {
  order: Order;
  endsAtMs: number;
}

/** How long orders are left to live: on any machine, one of them is open when the processes are killed. */
const SECONDS_LEFT = [3, 6, 12, 24, 48, 96];

async function endingOrder(secondsLeft: number): Promise<EndingOrder> {
  const order = await paidOrder();
  await answered('POST', `/orders/${order.order_number}/deliver`, { trackingId: 'IN1' });
  const { completes_at: endsAt } = await read(order);
  const seconds = Math.floor((Date.parse(endsAt ?? '') - Date.now()) / 1000) - secondsLeft;
  const helper = `/test-helpers/orders/${order.order_number}/advance`;
  const { body } = await answered('POST', helper, { seconds });
  return { order, endsAtMs: Date.parse(body.data.completes_at ?? '') };
}

const endingOrders = () => Promise.all(SECONDS_LEFT.map(endingOrder));

/** Waits until one of the orders has ended that is open now. @returns that order */
async function untilOneEnded(orders: readonly EndingOrder[]): Promise<Order> {
  const [next] = orders
    .filter(({ endsAtMs }) => endsAtMs > Date.now())
    .toSorted((one, other) => one.endsAtMs - other.endsAtMs);
  if (!next) throw new Error('All orders had ended before the processes were killed');
  await until(() => Date.now() > next.endsAtMs);
  return next.order;
}

/** A worker that was killed while it moved the order's money keeps the lease on it for a minute. */
const untilCompleted = (order: Order) =>
  until(async () => (await read(order)).status === 'COMPLETED');

describe('when the worker is killed', () => {
  let paid: Order;
  let orders: EndingOrder[];

  test('npm start ends completely with a line that says so and exit code 1, and leaves no process', async () => {
    const { merchantId } = npm.facts().demoMerchant;
    const url = `http://127.0.0.1:${await freePort()}/webhooks`;
    const webhook = ['--merchant', merchantId, '--environment', 'sandbox', '--url', url];
    await adminProcess({ DATA_DIR: dataDir }).json('webhook', 'set', ...webhook);
    paid = await paidOrder();
    const service = npm.service();
    const family = service.family();
    const workers = findProcesses(join(REPOSITORY, 'src/main/worker.ts'), `--run-of=${dataDir}`);
    expect(workers).toEqual([expect.any(Number)]);
    expect(family).toContain(workers[0]);
    orders = await endingOrders();

    for (const worker of workers) process.kill(worker, 'SIGKILL');
    expect(await service.ended).toEqual([1, null]);
    const log = join(dataDir, 'logs', 'worker.log');
    expect(service.errorLines()).toEqual([`Worker ended (killed by SIGKILL); its log: ${log}`]);
    await untilGone(family);
    expect(existsSync(join(dataDir, 'dev.json'))).toBe(false);
  });

  test('npm start continues with the same keys, the open orders, and a timer that became due meanwhile', async () => {
    const { demoMerchant, demoUsers } = npm.facts();
    const ended = await untilOneEnded(orders);
    await npm.start();
    expect(npm.facts().demoMerchant).toEqual(demoMerchant);
    expect(npm.facts().demoUsers).toEqual(demoUsers);
    expect((await read(paid)).status).toBe('PAID');
    await untilCompleted(ended);
    const { body } = await answered('POST', `/orders/${paid.order_number}/deliver`, {});
    expect(body.data.status).toBe('DELIVERED');
  });
});

test('after all of its processes were killed, npm start continues as before', async () => {
  const orders = await endingOrders();
  const family = npm.service().family();
  for (const pid of family) sendSignal(pid, 'SIGKILL');
  await untilGone(family);
  const ended = await untilOneEnded(orders);
  await npm.start();
  await untilCompleted(ended);
});

test('npm start that follows at once on one that was killed waits for the end of its processes', async () => {
  const [pid = ''] = readFileSync(join(dataDir, 'npm-start.pid'), 'utf8').split(' ');
  process.kill(Number(pid), 'SIGKILL');
  await npm.start();
});

test('a SIGTERM to npm alone stops everything', async () => {
  const service = npm.service();
  const family = service.family();
  process.kill(service.pid, 'SIGTERM');
  await service.ended;
  await untilGone(family);
  expect(service.errorLines()).toEqual([]);
});
