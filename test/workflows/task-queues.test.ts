import { expect, onTestFinished } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { createWorkflowInspector } from '../../src/temporal/pending-activities.ts';
import { sweep } from '../support/gateway.ts';
import type { DirectOrder } from '../support/orders.ts';
import { startOrder, startOrderIn } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { startWorkerProcess } from '../support/worker-process.ts';
import { makeSender } from '../webhooks/send.ts';

const DAY_SECONDS = 24 * 3600;
const NOTHING_BUT_WORKFLOWS = { enableNonLocalActivities: false };

const test = serviceTest({
  time: 'real',
  worker: false,
  callbacks: false,
  settings: { WEBHOOK_RETRY_DELAYS_SECONDS: '0.1,600,600,600' },
});

async function runWorker(service: TestService, ...args: Parameters<TestService['startWorker']>) {
  const worker = await service.startWorker(...args);
  onTestFinished(() => worker.stop());
}

/** `npm run worker` with WORKER_TASK_QUEUES. */
async function runProcess(service: TestService, queues: string) {
  const worker = await startWorkerProcess(service, { settings: { WORKER_TASK_QUEUES: queues } });
  onTestFinished(() => worker.kill());
}

/** Lets the window of a DELIVERED order pass, which starts its release. */
const endWindow = (order: DirectOrder) => order.update('advance', { seconds: DAY_SECONDS });

const attemptsOf = async (service: TestService, { orderNumber }: DirectOrder) => {
  const [row] = await service.sql<[{ count: number }]>`
    SELECT count(*)::integer FROM webhook_attempts
    JOIN webhook_deliveries USING (delivery_id) JOIN order_events USING (event_id)
    WHERE order_number = ${orderNumber}`;
  return row.count;
};

test('a worker that serves only the money queue moves money and sends no webhook', async ({
  service,
}) => {
  const { merchantId, receiver } = await service.newMerchant();
  const silent = createActivities({ ...service.deps, sendsWebhooks: false });
  await runWorker(service, silent, NOTHING_BUT_WORKFLOWS);
  await runProcess(service, MONEY_TASK_QUEUE);

  const order = await startOrderIn(service, 'DELIVERED', { merchantId });
  await endWindow(order);
  await order.untilStatus('COMPLETED');
  const refunded = await startOrderIn(service, 'REFUNDED', { merchantId });

  expect(await order.events()).toHaveLength(4);
  expect(await refunded.events()).toHaveLength(5);
  expect(receiver.received).toEqual([]);
  expect(await attemptsOf(service, order)).toBe(0);
});

test('a worker that serves only the orders queue sends webhooks and moves no money', async ({
  service,
}) => {
  const { merchantId, receiver } = await service.newMerchant();
  await runProcess(service, TASK_QUEUE);

  const order = await startOrderIn(service, 'DELIVERED', { merchantId });
  await endWindow(order);
  await receiver.until(3);
  await until(async () => (await pendingActivities(order)).join() === 'releaseFunds');
  expect((await order.kinds()).at(-1)).toBe('RELEASE_STARTED');

  await runProcess(service, MONEY_TASK_QUEUE);
  await order.untilStatus('COMPLETED');
  // The worker that moved the money sends no webhook: it has left this one due.
  await sweep(service);
  await receiver.until(4);
});

async function pendingActivities({ handle }: DirectOrder) {
  const { raw } = await handle.describe();
  return raw.pendingActivities?.map(({ activityType }) => activityType?.name) ?? [];
}

/** The webhook activities among them, and whether they have a worker's slot. */
async function webhooksOf(service: TestService, { orderNumber }: DirectOrder) {
  const view = await createWorkflowInspector(service.temporal.client).inspect(orderNumber);
  const pending = (view?.pending ?? []).map(
    ({ activityType, state }) => `${activityType} ${state}`,
  );
  return pending.filter((name) => name.startsWith('sendWebhook'));
}

test('money is moved even if an endpoint that does not respond has taken every webhook slot', async ({
  service,
}) => {
  const slots = 3;
  const dead = await service.newMerchant();
  // The first attempts of the first events are refused once all have begun. All others are never answered.
  const first = new Set<string>();
  const allBegun = Promise.withResolvers<number>();
  dead.receiver.answerWith(({ body }) => {
    if (first.size === slots || first.has(body.event_id)) return new Promise(() => {});
    if (first.add(body.event_id).size === slots) allBegun.resolve(500);
    return allBegun.promise;
  });
  const { merchantId } = dead;
  const patient = createActivities({ ...service.deps, sender: makeSender() });
  await runWorker(service, patient, { maxConcurrentActivityTaskExecutions: slots });
  onTestFinished(() => dead.receiver.stop()); // Before the worker, which waits for its attempts to end.

  const order = await startOrder(service, { merchantId });
  await order.pay();
  await order.update('deliver');
  const running = Array(slots).fill('sendWebhook running');
  await until(async () => (await webhooksOf(service, order)).join() === running.join());
  await endWindow(order);
  await order.untilStatus('COMPLETED');

  // The first attempts were refused. The next ones hang in every slot: the fourth webhook has none, and is
  // due as soon as its workflow waits for it.
  const inSlots = (await webhooksOf(service, order)).filter((one) => one.endsWith('running'));
  expect(inSlots).toEqual(running);
  await dead.receiver.until(2 * slots + 1);
  expect(await attemptsOf(service, order)).toBe(slots);
});
