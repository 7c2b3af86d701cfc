import { expect, onTestFinished } from 'vitest';
import { raiseAlert } from '../../src/alerts/alerts.ts';
import { acceptsConnections, freePort } from '../../dev/processes/ports.ts';
import { createCallbackKit } from '../payments/callback-kit.ts';
import { startApiProcess } from '../support/api-process.ts';
import { runPart } from '../support/run-part.ts';
import { serviceTest } from '../support/service-test.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const test = serviceTest({ time: 'real', worker: false, merchant: { webhooks: false } });

const scrape = async (port: number) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

test('API and worker each serve their own metrics at METRICS_PORT', async ({
  service,
  merchant,
}) => {
  const ports = { api: await freePort(), worker: await freePort() };
  const api = await startApiProcess(service, { METRICS_PORT: String(ports.api) });
  onTestFinished(() => api.stop());
  const worker = await startWorkerProcess(service, {
    settings: { METRICS_PORT: String(ports.worker) },
  });
  onTestFinished(() => worker.kill());

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
    const text = await scrape(port);
    for (const kind of ['callback_not_understood', 'clock_skew']) {
      expect(text).toContain(`payment_order_service_alerts_open{kind="${kind}"} 1\n`);
    }
    expect(text).toMatch(/^nodejs_version_info\{version="v24\./m);
  }
  // What Temporal's SDK measures comes with the worker's.
  expect(await scrape(ports.worker)).toMatch(/^temporal_worker_task_slots_available\{.* \d+$/m);
  expect(await scrape(ports.api)).not.toContain('temporal_');
  const ready = await fetch(`http://127.0.0.1:${ports.api}/readyz`);
  const checks = { database: 'up', temporal: 'up' };
  expect([ready.status, await ready.json()]).toEqual([200, { status: 'ready', checks }]);
  expect((await fetch(`http://127.0.0.1:${ports.api}/livez`)).status).toBe(200);
  // The metrics end with their process.
  expect(await worker.stop()).toBe(0);
  expect(await acceptsConnections('127.0.0.1', ports.worker)).toBe(false);
});

test('a port that another process uses is reported in one line that names METRICS_PORT', async ({
  service,
}) => {
  const port = new URL(service.origin).port;
  const settings = { ...service.env, PORT: String(await freePort()), METRICS_PORT: port };
  const { code, stderr } = await runPart('src/main/api.ts', { LOG_LEVEL: 'silent', ...settings });
  expect([code, stderr]).toEqual([
    1,
    `Port ${port} is already in use: stop what uses it, or set METRICS_PORT to another port\n`,
  ]);
});
