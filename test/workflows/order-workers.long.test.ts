import { randomUUID } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { atRazorpay } from '../support/gateway.ts';
import { linesIn } from '../support/log-lines.ts';
import { eventNames } from '../../dev/orders/history.ts';
import type { DirectOrder, Orders } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess, startWorkerThatDies } from '../support/worker-process.ts';

const DAY_SECONDS = 24 * 3600;

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  // An interrupted attempt is retried after a minute.
  merchant: { webhooks: false },
});

/** A worker of this process, stopped at the end of its test. */
async function runWorker(service: TestService) {
  const worker = await service.startWorker();
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= worker.stop());
  onTestFinished(stop);
  return { stop };
}

/** Brings an order from a status to its end, with a delivery and without a dispute. */
async function liveOn(order: DirectOrder, from: OrderStatus): Promise<void> {
  if (from === 'ACCEPTED') await order.pay();
  if (from === 'ACCEPTED' || from === 'PAID') await order.update('deliver');
  if (from === 'DISPUTE_OPEN') await order.update('submitEvidence');
  if (from.startsWith('DISPUTE_')) await order.update('resolve');
  await order.update('advance', { seconds: DAY_SECONDS });
  await order.untilStatus('COMPLETED');
}

/** Checks that each step was made exactly once. */
async function assertWhole(order: DirectOrder, from: OrderStatus): Promise<void> {
  const disputed = from.startsWith('DISPUTE_');
  const types = [
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'DELIVERY_CONFIRMED',
    ...(disputed ? ['DISPUTE_RAISED', 'DISPUTE_RESOLVED'] : []),
    'ORDER_COMPLETED',
  ];
  expect(await order.events()).toEqual(types.map((type, index) => `${index + 1} ${type}`));
  expect((await order.row()).disputeCount).toBe(disputed ? 1 : 0);
  expect(await order.handle.result()).toMatchObject({ status: 'COMPLETED' });
}

const STAGES = ['ACCEPTED', 'PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW'] as const;

test('a killed worker loses no order: another worker continues every one', async ({
  service,
  orders,
}) => {
  const doomed = await startWorkerProcess(service);
  const started = await Promise.all(
    STAGES.map(async (from) => ({
      from,
      order: await orders.in(from),
    })),
  );
  await doomed.kill();
  // The new worker has none of them in its cache: it replays their histories.
  await runWorker(service);
  await Promise.all(started.map(({ order, from }) => liveOn(order, from)));
  for (const { order, from } of started) await assertWhole(order, from);
});

test('a worker whose settings let it keep six orders in memory serves ten in turn, replaying each', async ({
  service,
  orders,
}) => {
  const logFile = join(temporaryFolder(), 'worker.log');
  const output = openSync(logFile, 'a');
  const settings = { LOG_LEVEL: 'info', WORKER_MAX_CACHED_WORKFLOWS: '6' };
  const worker = await startWorkerProcess(service, { output, settings });
  onTestFinished(async () => {
    await worker.kill();
    closeSync(output);
  });
  const started: DirectOrder[] = [];
  for (let index = 0; index < 10; index += 1) {
    started.push(await orders.in('ACCEPTED'));
  }
  for (const order of started) await order.pay();
  for (const order of started) await order.update('deliver');
  for (const order of started) await order.update('advance', { seconds: DAY_SECONDS });
  for (const order of started) await order.untilStatus('COMPLETED');
  for (const order of started) await assertWhole(order, 'ACCEPTED');
  const polling = linesIn(logFile).find(({ msg }) => msg === 'The worker polls for tasks');
  expect(polling).toMatchObject({ maxCachedWorkflows: 6 });
});

test('an order that waits for its first worker is not signalled to compare itself with its row', async ({
  service,
  merchant,
}) => {
  const events = await until(async () => {
    const key = { 'Idempotency-Key': randomUUID() };
    const create = () => merchant.sandbox.create({}, key);
    const { order_number: orderNumber } = await create();
    expect((await create()).order_number).toBe(orderNumber);
    const names = await eventNames(service.temporal.client.workflow.getHandle(orderNumber));
    // The worker of the test before may have taken the first task as it stopped.
    return !names.includes('WORKFLOW_TASK_STARTED') && names;
  });
  expect(events).toContain('WORKFLOW_EXECUTION_STARTED');
  expect(events).not.toContain('WORKFLOW_EXECUTION_SIGNALED');
});

/** An order whose window had not ended when its worker stopped: a busy machine needs a longer one. */
async function deliveredBeforeItsWorkerStopped(service: TestService, orders: Orders) {
  for (let completionWindowMs = 3000; ; completionWindowMs *= 2) {
    const terms = { environment: 'sandbox', completionWindowMs, disputeAnswerMs: 1e9 } as const;
    const worker = await runWorker(service);
    const order = await orders.in('DELIVERED', { terms });
    await worker.stop();
    const { status, pendingOperation, completesAt: endsAt } = await order.row();
    if (status === 'DELIVERED' && pendingOperation === null && endsAt) return { order, endsAt };
  }
}

test('a dispute received while no worker runs counts, though the workflow handles it after the window', async ({
  service,
  merchant,
  orders,
}) => {
  const { order, endsAt } = await deliveredBeforeItsWorkerStopped(service, orders);
  await service.clock.stopAt(new Date(endsAt.getTime() - 1000));
  const reason = 'It never arrived at my door';
  const asked = merchant.sandbox.help({ order_number: order.orderNumber }, 'dispute', { reason });
  await until(async () => (await order.row()).waitingDisputeId !== null);
  await service.clock.set(0);
  await until(() => Date.now() > endsAt.getTime() + 1000);

  await runWorker(service);
  await order.untilStatus('DISPUTE_OPEN');
  expect(await order.row()).toMatchObject({ disputeCount: 1, disputeReason: reason });
  expect(await order.kinds()).not.toContain('RELEASE_STARTED');
  expect([200, 500]).toContain((await asked).status);
});

test('a step recorded by a worker that died right after is never mistaken for another step', async ({
  service,
  orders,
}) => {
  // The database has CANCELLED, and Temporal does not.
  const doomed = await startWorkerThatDies(service, 'after ORDER_CANCELLED');
  const order = await orders.start({ paymentLinkMs: 1000 });
  await doomed.exited;
  expect((await order.row()).status).toBe('CANCELLED');

  // The next worker gets the payment and the expiry together, and could handle either first.
  const gatewayPaymentId = await order.capture();
  await order.signal('pay', atRazorpay(gatewayPaymentId));
  await runWorker(service);
  // The database says that the link has expired, so the buyer gets the money back.
  await until(async () => (await order.row()).refundProcessedAt !== null);
  expect(await order.row()).toMatchObject({ status: 'CANCELLED', gatewayPaymentId: null });
  expect(await order.events()).toEqual(['1 ORDER_CREATED', '2 ORDER_CANCELLED']);
  expect(await order.handle.result()).toMatchObject({ status: 'CANCELLED' });
});
