import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { reconcile, setSwitches } from '../support/gateway.ts';
import type { PartLine } from '../support/log-lines.ts';
import { linesIn } from '../support/log-lines.ts';
import { serviceTest } from '../support/service-test.ts';
import { startTcpProxy } from '../../dev/processes/tcp-proxy.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const [INFO, WARN, ERROR] = [30, 40, 50];

const test = serviceTest({ time: 'real', worker: false })
  .extend('temporal', { scope: 'file' }, async ({ service }, { onCleanup }) => {
    const proxy = await startTcpProxy(service.temporal.address);
    onCleanup(() => proxy.stop());
    return proxy;
  })
  .extend('workerProcess', { scope: 'file' }, async ({ service, temporal }, { onCleanup }) => {
    const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-worker-'));
    const logFile = join(folder, 'worker.log');
    const output = openSync(logFile, 'a');
    const settings = { LOG_LEVEL: 'info', TEMPORAL_ADDRESS: temporal.address };
    const worker = await startWorkerProcess(service, { output, settings });
    onCleanup(async () => {
      await worker.kill();
      closeSync(output);
      await rm(folder, { recursive: true });
    });
    return { ...worker, logFile };
  });
test.beforeAll(({ workerProcess }) => void workerProcess);

/** The log so far; each line must be a JSON log object. */
const lines = (logFile: string) => linesIn(logFile);

function untilLine(logFile: string, fields: Partial<PartLine>): Promise<PartLine> {
  const fits = (line: PartLine) =>
    Object.entries(fields).every(([name, value]) => line[name] === value);
  return until(() => lines(logFile).find(fits));
}

test('a failed webhook attempt is logged with its order, merchant, event, status and duration', async ({
  merchant,
  workerProcess,
}) => {
  merchant.receiver.answerWith(() => 503);
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const line = await untilLine(workerProcess.logFile, {
    msg: 'webhook attempt failed',
    orderNumber,
  });
  expect(line).toMatchObject({
    level: WARN,
    name: 'worker',
    merchantId: merchant.merchantId,
    environment: 'sandbox',
    event: 'ORDER_CREATED',
    kind: 'scheduled',
    attempt: 1,
    status: 503,
    durationMs: expect.any(Number),
    reason: 'answered 503',
    state: 'PENDING',
    retryAfterMs: 300_000,
  });
  merchant.receiver.answerWith(() => 200);
});

test('a gateway call and an alert of an order are logged with its number', async ({
  service,
  merchant,
  workerProcess,
}) => {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  await setSwitches(service, 'all', { transfersRefused: true });
  await reconcile(service);
  const orderNumber = order.order_number;
  expect(
    await untilLine(workerProcess.logFile, { alert: 'gateway_refused', orderNumber }),
  ).toMatchObject({
    level: ERROR,
  });
  const transferring = { route: '/v1/payments/{id}/transfers', orderNumber, level: WARN };
  expect(await untilLine(workerProcess.logFile, transferring)).toMatchObject({
    gateway: 'razorpay',
    method: 'POST',
    status: 400,
    durationMs: expect.any(Number),
    outcome: 'refused',
  });
  await setSwitches(service, 'all', { transfersRefused: null });
  const refund = { reason: 'It never came' };
  await merchant.sandbox.help(order, 'dispute', refund);
  await merchant.sandbox.post(`/orders/${orderNumber}/dispute/accept`);
  expect(
    await untilLine(workerProcess.logFile, {
      route: '/v1/payments/{id}/refund',
      orderNumber,
      level: INFO,
    }),
  ).toMatchObject({ method: 'POST', status: 200, activityType: 'refundPayment' });
});

test('a workflow’s log lines have the number of its order', async ({
  service,
  merchant,
  workerProcess,
}) => {
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const handle = service.temporal.client.workflow.getHandle(orderNumber);
  await handle.signal('failPayment', { commandId: { not: 'text' } });
  expect(
    await untilLine(workerProcess.logFile, { msg: 'Signal dropped', orderNumber }),
  ).toMatchObject({
    level: WARN,
  });
});

test('every line of the SDK and of its native part is a line of the log', async ({
  merchant,
  orders,
  temporal,
  workerProcess,
}) => {
  await temporal.refuse();
  await untilLine(workerProcess.logFile, { sdkComponent: 'core' });
  await temporal.forward();
  const order = await orders.workflowOf(await merchant.sandbox.create());
  await order.untilBegun();
  expect(await workerProcess.stop()).toBe(0);
  // The native part may write more lines while the worker stops.
  const ofWorker = lines(workerProcess.logFile).filter((line) => line['sdkComponent'] === 'worker');
  expect(ofWorker.at(-1)).toMatchObject({ state: 'STOPPED' });
});
