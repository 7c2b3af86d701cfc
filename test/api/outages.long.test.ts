import { randomUUID } from 'node:crypto';
import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { ApiAnswer, ApiClient } from '../support/api-client.ts';
import { anOrder, withKey } from '../support/api-client.ts';
import type { ApiProcess } from '../support/api-process.ts';
import { startApiProcess } from '../support/api-process.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { repeated, repeatedIfLate } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import type { TcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { startTcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { expectRefusal, expectSuccess } from './expectations.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } })
  .extend('temporal', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startTcpProxy(service.temporal.address), onCleanup),
  )
  .extend('postgres', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startTcpProxy(new URL(service.config.databaseUrl ?? '').host), onCleanup),
  )
  .extend('behindProxies', { scope: 'file' }, ({ service, temporal, postgres }, { onCleanup }) =>
    stoppedAtEnd(startApiProcess(service, proxied(service, temporal, postgres)), onCleanup),
  )
  .extend('api', { scope: 'file' }, ({ merchant, behindProxies }) =>
    behindProxies.as(merchant.keys),
  );

function proxied(
  service: TestService,
  temporal: TcpProxy,
  postgres: TcpProxy,
): Record<string, string> {
  const databaseUrl = new URL(service.config.databaseUrl ?? '');
  databaseUrl.port = String(postgres.port);
  return { TEMPORAL_ADDRESS: temporal.address, DATABASE_URL: databaseUrl.href };
}

// Also after a failure: the next test needs the network.
test.afterEach(async ({ temporal, postgres }) => {
  await temporal.forward();
  await postgres.forward();
});

const rowsOf = (service: TestService, key: string) => service.sql<{ orderNumber: string }[]>`
  SELECT order_number FROM orders WHERE idempotency_key = ${key}`;
const stepsOf = (service: TestService, orderNumber: string) => service.sql`
  SELECT FROM order_steps WHERE order_number = ${orderNumber}`;
/** No workflow of the order has begun. */
const isNew = async ({ sql }: TestService, orderNumber: string) =>
  (await sql`SELECT FROM order_wakeups WHERE order_number = ${orderNumber} AND cause = 'creation'`)
    .length > 0;
const isReady = async (behindProxies: ApiProcess) =>
  (await fetch(`${behindProxies.origin}/readyz`)).ok;

async function expectUnready(
  behindProxies: ApiProcess,
  checks: Record<string, string>,
): Promise<void> {
  const ready = async () => {
    const answer = await fetch(`${behindProxies.origin}/readyz`);
    return [answer.status, await answer.json()];
  };
  // On a busy machine a check of the other server may take too long.
  await expect.poll(ready).toEqual([503, { status: 'unavailable', checks }]);
  expect((await fetch(`${behindProxies.origin}/healthz`)).status).toBe(200);
}

async function expectReadable(api: ApiClient, path: string): Promise<void> {
  for (const read of [path, `${path}/timeline`, '/orders']) {
    expectSuccess(await repeatedIfLate(() => api.get(read)), 200);
  }
}

/** Each test awaits the response before it ends the outage: the service does not wait for its end. */
async function expectFault(asked: Promise<ApiAnswer>): Promise<void> {
  const answer = await asked;
  expectRefusal(answer, 500, 'Internal server error');
  expect(answer.headers.get('Retry-After')).toBe('1');
}

/** Throws the first failure only after all have ended: one still under way would fail in the next test. */
async function allOf(expectations: readonly Promise<void>[]): Promise<void> {
  const results = await Promise.allSettled(expectations);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** The one order of a key, once its row and its workflow exist. */
async function expectOneOrder(service: TestService, key: string): Promise<void> {
  const rows = await rowsOf(service, key);
  expect(rows).toHaveLength(1);
  const orderNumber = rows[0]!.orderNumber;
  await until(async () => !(await isNew(service, orderNumber)));
  expect(await stepsOf(service, orderNumber)).toHaveLength(1);
}

const OUTAGES = {
  hangs: (proxy: TcpProxy) => proxy.hang(),
  'is down': (proxy: TcpProxy) => proxy.refuse(),
} as const;

describe.each(Object.entries(OUTAGES))('Temporal %s', (_how, cut) => {
  test('writing is 500 while that lasts, reading works, and a retry with the same key takes effect once', async ({
    service,
    temporal,
    behindProxies,
    api,
  }) => {
    const key = randomUUID();
    const order = await createdOrder(api);
    const path = `/orders/${order.order_number}`;
    await cut(temporal);
    const cancel = () => expectFault(api.post(`${path}/cancel`, undefined, withKey('cancel')));
    await allOf([
      expectFault(api.post('/orders', anOrder(), withKey(key))),
      // More than may run at the same time: those that wait also get their response in time.
      ...Array.from({ length: 10 }, cancel),
      expectReadable(api, path),
      expectUnready(behindProxies, { database: 'up', temporal: 'down' }),
    ]);
    await temporal.forward();
    await retryUntilCreated(api, key);
    await expectOneOrder(service, key);
    const cancelled = await repeated(() =>
      api.post(`${path}/cancel`, undefined, withKey('cancel')),
    );
    expect([cancelled.status, cancelled.body.data.status]).toEqual([200, 'CANCELLED']);
    expect(await stepsOf(service, order.order_number)).toHaveLength(2);
    await until(() => isReady(behindProxies));
  });
});

describe.each(Object.entries(OUTAGES))('PostgreSQL %s', (_how, cut) => {
  test('every request is 500 while that lasts, also many concurrent ones, and the service recovers by itself', async ({
    service,
    postgres,
    behindProxies,
    api,
  }) => {
    const order = await createdOrder(api);
    const key = randomUUID();
    await cut(postgres);
    await allOf([
      expectFault(api.post('/orders', anOrder(), withKey(key))),
      expectFault(api.get('/orders')),
      expectFault(api.get('/nothing')),
      expectFault(api.post(`/orders/${order.order_number}/cancel`)),
      ...Array.from({ length: 16 }, () => expectFault(api.get(`/orders/${order.order_number}`))),
      expectUnready(behindProxies, { database: 'down', temporal: 'up' }),
    ]);
    await postgres.forward();
    await retryUntilCreated(api, key);
    await expectOneOrder(service, key);
    await until(() => isReady(behindProxies));
  });
});

// At the API of the test's process, which waits longer, for the gateway, too.
test('while the gateway hangs, opening a session and cancelling are 502 and change nothing', async ({
  gateway,
  merchant,
}) => {
  const api = merchant.sandbox;
  const [fresh, withSession] = [await api.create(), await api.create()];
  const pathOf = (order: Order, operation: string) => `/orders/${order.order_number}/${operation}`;
  expectSuccess(await api.post(pathOf(withSession, 'payment-sessions')), 201);
  await gateway.addFault({ kind: 'late' });
  const asked = await Promise.all([
    api.post(pathOf(fresh, 'payment-sessions')),
    api.post(pathOf(withSession, 'cancel')),
  ]);
  await gateway.endFaults();
  for (const answer of asked) {
    expect(answer.body.message).toMatch(
      /^The UPI payment gateway is temporarily unavailable; retry/,
    );
    expectRefusal(answer, 502, answer.body.message);
  }
  for (const order of [fresh, withSession]) {
    expect((await api.get(`/orders/${order.order_number}`)).body.data.status).toBe('ACCEPTED');
  }
  expectSuccess(await api.post(pathOf(fresh, 'payment-sessions')), 201);
  // For some seconds after a failed cancel, further ones are refused without asking the gateway.
  await until(async () => (await api.post(pathOf(withSession, 'cancel'))).status === 200);
});

async function retryUntilCreated(api: ApiClient, key: string): Promise<Order> {
  const answer = await repeated(() => api.post('/orders', anOrder(), withKey(key)));
  expectSuccess(answer, 201);
  return answer.body.data;
}

/** A new order; on a busy machine the API may take longer than the contract's 5 s. */
const createdOrder = (api: ApiClient) => retryUntilCreated(api, randomUUID());

/** Waits until the texts of a delivery are recorded, which happens before its order is notified. */
const requestHasArrived = ({ sql }: TestService, orderNumber: string) =>
  until(async () => {
    const commands = await sql`
      SELECT FROM order_commands WHERE order_number = ${orderNumber} AND name = 'deliver'`;
    return commands.length > 0;
  });

test('SIGTERM ends the process as usual while Temporal is down', async ({ service }) => {
  const stopping = await startApiProcess(service, { TEMPORAL_ADDRESS: '127.0.0.1:1' });
  expect((await fetch(`${stopping.origin}/readyz`)).status).toBe(503);
  // Not stop, which kills a process that has not ended after some seconds.
  process.kill(stopping.pid, 'SIGTERM');
  expect(await stopping.exited).toEqual({ code: 0, signal: null });
  await stopping.stop();
});

describe('an API process that is killed', () => {
  test('between the row and the workflow is repaired by a retry with the same key on another process', async ({
    service,
    merchant,
    api,
  }) => {
    const hung = await startTcpProxy(service.temporal.address);
    const doomed = await startApiProcess(service, { TEMPORAL_ADDRESS: hung.address });
    hung.hang();
    const key = randomUUID();
    const lost = doomed.as(merchant.keys).post('/orders', anOrder(), withKey(key));
    const ended = Promise.allSettled([lost]);
    await until(async () => (await rowsOf(service, key)).length === 1);
    await doomed.kill();
    // On a busy machine the API may have given up before it was killed.
    const [answer] = await ended;
    const seen = answer.status === 'rejected' ? String(answer.reason) : answer.value.status;
    expect(['TypeError: fetch failed', 500]).toContain(seen);
    await doomed.stop();
    await hung.stop();
    const [row] = await rowsOf(service, key);
    expect(await isNew(service, row!.orderNumber)).toBe(true);
    await retryUntilCreated(api, key);
    await expectOneOrder(service, key);
  });

  test('during a delivery is repaired by a retry with the same key', async ({
    service,
    merchant,
    api,
  }) => {
    const order = await createdOrder(api);
    await repeated(() => api.help(order, 'pay'));
    const doomed = await startApiProcess(service);
    const path = `/orders/${order.order_number}/deliver`;
    const lost = doomed.as(merchant.keys).post(path, { note: 'Sent' }, withKey('deliver'));
    const ended = Promise.allSettled([lost]);
    await Promise.race([lost, requestHasArrived(service, order.order_number)]);
    await doomed.kill();
    await ended;
    await doomed.stop();
    const deliver = () => api.post(path, { note: 'Sent' }, withKey('deliver'));
    const retried = await repeated(deliver);
    expect([retried.status, retried.body.data.status]).toEqual([200, 'DELIVERED']);
    const steps = await service.sql`
      SELECT FROM order_steps
      WHERE order_number = ${order.order_number} AND kind = 'DELIVERY_CONFIRMED'`;
    expect(steps).toHaveLength(1);
  });
});
