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
    return { ready: () => get('/readyz'), alive: () => get('/livez') };
  });

const UP = { polls: 'up', database: 'up', temporal: 'up' };
const READY = { status: 200, body: { status: 'ready', checks: UP } };
const without = (down: object) => ({
  status: 503,
  body: { status: 'unavailable', checks: { ...UP, ...down } },
});
const ALIVE = { status: 200, body: { status: 'alive' } };

test.for(['refuse', 'hang'] as const)(
  'a worker whose database connections %s is not ready, and is ready again afterwards',
  async (fault, { process, postgres }) => {
    onTestFinished(() => postgres.forward());
    await expect.poll(process.ready).toEqual(READY);
    await postgres[fault]();
    // It answers while the connections are as they are.
    await expect.poll(process.ready).toEqual(without({ database: 'down' }));
    expect(await process.alive()).toEqual(ALIVE);
    await postgres.forward();
    await expect.poll(process.ready).toEqual(READY);
  },
);

test('a worker that Temporal does not answer is not ready, and is ready again afterwards', async ({
  process,
  temporal,
}) => {
  onTestFinished(() => temporal.forward());
  await temporal.refuse();
  await expect.poll(process.ready).toEqual(without({ temporal: 'down' }));
  expect(await process.alive()).toEqual(ALIVE);
  await temporal.forward();
  await expect.poll(process.ready).toEqual(READY);
});
