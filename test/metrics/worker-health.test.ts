import { expect, onTestFinished } from 'vitest';
import { freePort } from '../../dev/processes/ports.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import { startTcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const test = serviceTest({ time: 'real', worker: false })
  .extend('postgres', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startTcpProxy(new URL(service.config.databaseUrl ?? '').host), onCleanup),
  )
  .extend('temporal', { scope: 'file' }, ({ service }, { onCleanup }) =>
    stoppedAtEnd(startTcpProxy(service.temporal.address), onCleanup),
  )
  .extend('process', { scope: 'file' }, async ({ service, postgres, temporal }, { onCleanup }) => {
    const port = await freePort();
    const databaseUrl = new URL(service.config.databaseUrl ?? '');
    databaseUrl.host = postgres.address;
    const settings = {
      DATABASE_URL: databaseUrl.href,
      TEMPORAL_ADDRESS: temporal.address,
      METRICS_PORT: String(port),
    };
    const worker = await startWorkerProcess(service, { settings });
    onCleanup(() => worker.kill());
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: answer.status, body: (await answer.json()) as unknown };
    };
    return { worker, ready: () => get('/readyz'), alive: () => get('/livez') };
  });

const UP = { polls: 'up', database: 'up', temporal: 'up' };
const READY = { status: 200, body: { status: 'ready', checks: UP } };
const without = (down: object) => ({
  status: 503,
  body: { status: 'unavailable', checks: { ...UP, ...down } },
});
const ALIVE = { status: 200, body: { status: 'alive' } };

/** Waits until the process says this of itself. */
const eventually = (read: () => unknown) => expect.poll(read, { timeout: 30_000, interval: 50 });

test('a worker is ready while it polls and its database and Temporal answer', async ({
  process,
}) => {
  await eventually(process.ready).toEqual(READY);
  expect(await process.alive()).toEqual(ALIVE);
});

test.for(['refuse', 'hang'] as const)(
  'a worker whose database connections %s is not ready, and is ready again afterwards',
  async (fault, { process, postgres }) => {
    onTestFinished(() => postgres.forward());
    await eventually(process.ready).toEqual(READY);
    await postgres[fault]();
    const startedAtMs = performance.now();
    expect(await process.ready()).toEqual(without({ database: 'down' }));
    expect(performance.now() - startedAtMs).toBeLessThan(4_000);
    expect(await process.alive()).toEqual(ALIVE);
    await postgres.forward();
    await eventually(process.ready).toEqual(READY);
  },
);

test('a worker that Temporal does not answer is not ready, and is ready again afterwards', async ({
  process,
  temporal,
}) => {
  onTestFinished(() => temporal.forward());
  await temporal.refuse();
  await eventually(process.ready).toEqual(without({ temporal: 'down' }));
  expect(await process.alive()).toEqual(ALIVE);
  await temporal.forward();
  await eventually(process.ready).toEqual(READY);
});

test('a worker that stops is alive and not ready until its last attempt has ended', async ({
  process,
  merchant,
  orders,
}) => {
  await eventually(process.ready).toEqual(READY);
  const answer = Promise.withResolvers<number>();
  merchant.receiver.answerWith(() => answer.promise);
  await orders.start();
  await merchant.receiver.until(1);
  const stopped = process.worker.stop();
  await eventually(async () => (await process.ready()).status).toBe(503);
  const { body } = await process.ready();
  expect(body).toMatchObject({ status: 'stopping' });
  expect(await process.alive()).toEqual(ALIVE);
  answer.resolve(200);
  expect(await stopped).toBe(0);
});
