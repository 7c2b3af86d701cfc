import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { reconcile, simulator } from '../support/gateway.ts';
import type { PartLine } from '../support/log-lines.ts';
import { linesIn } from '../support/log-lines.ts';
import { until } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import type { TcpProxy } from '../support/tcp-proxy.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { startWorkerProcess } from '../support/worker-process.ts';

const [INFO, WARN, ERROR] = [30, 40, 50];
let service: TestService;
let temporal: TcpProxy;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;
let worker: Awaited<ReturnType<typeof startWorkerProcess>>;
let folder: string;
let output: number;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  temporal = await startTcpProxy(inject('temporalAddress'));
  merchant = await service.newMerchant();
  folder = await mkdtemp(join(tmpdir(), 'merchant-orders-worker-'));
  output = openSync(join(folder, 'worker.log'), 'a');
  const settings = { LOG_LEVEL: 'info', TEMPORAL_ADDRESS: temporal.address };
  worker = await startWorkerProcess(service, { output, settings });
});
afterAll(async () => {
  await worker?.kill();
  await temporal?.stop();
  await service?.stop();
  closeSync(output);
  await rm(folder, { recursive: true });
});

/** The log so far, each line of which must be a line of a log. */
const lines = () => linesIn(join(folder, 'worker.log'));

/** Waits for a line with all of these fields. */
async function untilLine(fields: Partial<PartLine>): Promise<PartLine> {
  const fits = (line: PartLine) =>
    Object.entries(fields).every(([name, value]) => line[name] === value);
  return (await until(() => lines().find(fits))) as PartLine;
}

test('a failed webhook attempt is a line with its order, merchant, event, status and duration', async () => {
  merchant.receiver.answerWith(() => 503);
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const line = await untilLine({ msg: 'webhook attempt failed', orderNumber });
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

test('a gateway call and an alert of an order are lines with its number', async () => {
  const order = await merchant.sandbox.create();
  await merchant.sandbox.help(order, 'pay');
  const { id } = await simulator<{ id: string }>(service, 'POST', '/refusals', {
    cause: 'account_closed',
  });
  await reconcile(service);
  const orderNumber = order.order_number;
  expect(await untilLine({ alert: 'gateway_refused', orderNumber })).toMatchObject({
    level: ERROR,
  });
  const transferring = { route: '/v1/payments/{id}/transfers', orderNumber, level: WARN };
  expect(await untilLine(transferring)).toMatchObject({
    gateway: 'razorpay',
    method: 'POST',
    status: 400,
    durationMs: expect.any(Number),
    outcome: 'refused',
  });
  await simulator(service, 'DELETE', `/refusals/${id}`);
  const refund = { reason: 'It never came' };
  await merchant.sandbox.help(order, 'dispute', refund);
  await merchant.sandbox.post(`/orders/${orderNumber}/dispute/accept`);
  expect(
    await untilLine({ route: '/v1/payments/{id}/refund', orderNumber, level: INFO }),
  ).toMatchObject({ method: 'POST', status: 200, activityType: 'refundPayment' });
});

test('what a workflow logs is a line with the number of its order', async () => {
  const { order_number: orderNumber } = await merchant.sandbox.create();
  const handle = service.temporal.client.workflow.getHandle(orderNumber);
  await handle.signal('failPayment', { requestId: { not: 'text' } });
  expect(await untilLine({ msg: 'Signal dropped', orderNumber })).toMatchObject({ level: WARN });
});

test("the SDK's own lines and those of its native half are lines of the log, to the last one", async () => {
  await temporal.refuse();
  await untilLine({ sdkComponent: 'core' });
  await temporal.forward();
  const { order_number: orderNumber } = await merchant.sandbox.create();
  await until(async () => {
    const { body } = await merchant.sandbox.get(`/orders/${orderNumber}/timeline`);
    return JSON.stringify(body).includes('ORDER_CREATED');
  });
  expect(await worker.stop()).toBe(0);
  expect(lines().at(-1)).toMatchObject({ sdkComponent: 'worker', state: 'STOPPED' });
});
