import { expect, onTestFinished } from 'vitest';
import { raiseAlert } from '../../src/alerts/alerts.ts';
import { proveLedger } from '../../src/ledger/proofs.ts';
import { acceptsConnections, freePort } from '../../dev/processes/ports.ts';
import { createCallbackKit } from '../payments/callback-kit.ts';
import { startApiProcess } from '../support/api-process.ts';
import { stoppedAtEnd } from '../support/fixtures.ts';
import { serviceTest } from '../support/service-test.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { expressions, metricsOf } from './monitoring-files.ts';
import { samplesOf } from './scraping.ts';

const test = serviceTest({ time: 'real', worker: false })
  .extend('ports', { scope: 'file' }, async () => ({
    api: await freePort(),
    worker: await freePort(),
  }))
  .extend('api', { scope: 'file' }, ({ service, ports }, { onCleanup }) =>
    stoppedAtEnd(startApiProcess(service, { METRICS_PORT: String(ports.api) }), onCleanup),
  )
  .extend('workerProcess', { scope: 'file' }, async ({ service, ports }, { onCleanup }) => {
    const settings = { METRICS_PORT: String(ports.worker) };
    const worker = await startWorkerProcess(service, { settings });
    onCleanup(() => worker.kill());
    const get = async (path: string) => {
      const answer = await fetch(`http://127.0.0.1:${ports.worker}${path}`);
      return { status: answer.status, body: (await answer.json()) as unknown };
    };
    const { stop } = worker;
    return { stop, ready: () => get('/readyz'), alive: () => get('/livez') };
  });

const READY = {
  status: 200,
  body: { status: 'ready', checks: { polls: 'up', database: 'up', temporal: 'up' } },
};
const ALIVE = { status: 200, body: { status: 'alive' } };

const scrape = async (port: number) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

test('API and worker each serve their own metrics at METRICS_PORT', async ({
  service,
  merchant,
  ports,
  api,
  workerProcess: _worker,
}) => {
  // One alert that the API raises, and one of another process.
  const kit = createCallbackKit(service, merchant);
  const body = JSON.stringify({ event: 'payment.captured', payload: 'of another shape' });
  await kit.callBack(body, { origin: api.origin });
  const skew = { kind: 'clock_skew', subject: 'test', message: 'It is late' } as const;
  await raiseAlert(service.deps, skew);

  const raised = 'payment_order_service_alerts_raised_total{kind="callback_not_understood"}';
  expect(await scrape(ports.api)).toContain(`${raised} 1\n`);
  expect(await scrape(ports.worker)).toContain(`${raised} 0\n`);
  for (const port of Object.values(ports)) {
    const text = () => scrape(port);
    for (const kind of ['callback_not_understood', 'clock_skew']) {
      await expect.poll(text).toContain(`payment_order_service_alerts_open{kind="${kind}"} 1\n`);
    }
    expect(await text()).toMatch(/^nodejs_version_info\{version="v24\./m);
  }
  // What Temporal's SDK measures comes with the worker's.
  const measured = () => scrape(ports.worker);
  await expect.poll(measured).toMatch(/^temporal_worker_task_slots_available\{.* \d+$/m);
  expect(await scrape(ports.api)).not.toContain('temporal_');
  const ready = async () => {
    const answer = await fetch(`http://127.0.0.1:${ports.api}/readyz`);
    return [answer.status, await answer.json()];
  };
  const checks = { database: 'up', temporal: 'up' };
  await expect.poll(ready).toEqual([200, { status: 'ready', checks }]);
  expect((await fetch(`http://127.0.0.1:${ports.api}/livez`)).status).toBe(200);
});

test('every metric of the dashboard and of the rules is served by an API or a worker', async ({
  service,
  merchant,
  ports,
  api,
  workerProcess: _worker,
}) => {
  // An order whose funds are released, which is an activity, a proof, and a failure: the SDK counts
  // failures from the first one on.
  const client = api.as(merchant.keys);
  const order = await client.create();
  await client.help(order, 'pay');
  await client.post(`/orders/${order.order_number}/deliver`);
  await client.help(order, 'advance', { seconds: 24 * 3600 });
  await proveLedger(service.deps);
  const { workflow } = service.temporal.client;
  const workflowId = 'of-no-type';
  const failing = await workflow.start('noSuchType', { taskQueue: 'orders', workflowId });
  onTestFinished(async () => void (await failing.terminate()));

  const served = async () => {
    const texts = await Promise.all(
      Object.values(ports).map(async (port) =>
        (await fetch(`http://127.0.0.1:${port}/metrics`)).text(),
      ),
    );
    return new Set(texts.flatMap(samplesOf).map(({ name }) => name));
  };
  const missing = async () => {
    const names = await served();
    return expressions.flatMap(({ from, expr }) =>
      metricsOf(expr)
        .filter((name) => !names.has(name))
        .map((name) => `${from}: ${name}`),
    );
  };
  await expect.poll(missing).toEqual([]);
});

test('a worker is ready while it polls and its database and Temporal answer', async ({
  workerProcess,
}) => {
  await expect.poll(workerProcess.ready).toEqual(READY);
  expect(await workerProcess.alive()).toEqual(ALIVE);
});

test('a worker that stops is alive and not ready until its last attempt has ended', async ({
  workerProcess,
  ports,
  merchant,
  orders,
}) => {
  await expect.poll(workerProcess.ready).toEqual(READY);
  const answer = Promise.withResolvers<number>();
  merchant.receiver.answerWith(() => answer.promise);
  const { orderNumber } = await orders.start();
  await merchant.receiver.until(1, ({ body }) => body.data['order_number'] === orderNumber);
  const stopped = workerProcess.stop();
  await expect
    .poll(workerProcess.ready)
    .toMatchObject({ status: 503, body: { status: 'stopping' } });
  expect(await workerProcess.alive()).toEqual(ALIVE);
  answer.resolve(200);
  expect(await stopped).toBe(0);
  expect(await acceptsConnections('127.0.0.1', ports.worker)).toBe(false);
});
