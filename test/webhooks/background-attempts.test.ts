import { expect } from 'vitest';
import { ATTEMPT_LEASE_MS } from '../../src/domain/index.ts';
import { createStepRecorder } from '../../src/orders/steps/record-step.ts';
import { createAttemptLog } from '../../src/webhooks/schedule/attempt-log.ts';
import { attemptLeased } from '../../src/webhooks/schedule/leased-attempts.ts';
import { createBackgroundAttempts } from '../../src/webhooks/schedule/background-attempts.ts';
import { sweep } from '../support/gateway.ts';
import { eventNames } from '../../dev/orders/history.ts';
import { changeOf } from '../support/differing-sides.ts';
import type { DirectOrder } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { deliveriesOf } from './deliveries.ts';

const test = serviceTest({
  time: 'real',
  callbacks: false,
  settings: {
    WEBHOOK_RETRY_DELAYS_SECONDS: '0.3,0.3,0.3,0.3',
    SWEEP_AFTER_SECONDS: '0.001',
  },
});

/** The states of an order's deliveries and the numbers of their attempts, the oldest first. */
const sentOf = async (service: TestService, { orderNumber }: DirectOrder) =>
  (await deliveriesOf(service, orderNumber)).map(
    ({ state, attempts }) => `${state} ${attempts.length}`,
  );

const isScheduled = (name: string) => name === 'ACTIVITY_TASK_SCHEDULED';

test('a webhook that the endpoint accepts at once needs no activity', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  await until(async () => (await sentOf(service, order)).length === 3);
  await until(async () => (await sentOf(service, order)).every((sent) => sent === 'DELIVERED 1'));
  expect((await eventNames(order.handle)).filter(isScheduled)).toEqual([]);
});

test('one that the endpoint refuses is sent again by the workflow', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('PAID');
  await until(async () => (await sentOf(service, order)).join() === 'DELIVERED 1,DELIVERED 1');
  const { receiver } = merchant;
  receiver.answerWith(() => 503);
  await order.update('deliver');
  await until(async () => (await sentOf(service, order))[2] === 'FAILED 5');
  receiver.answerWith(() => 200);
  const sent = await receiver.until(
    5,
    ({ event, body }) =>
      event === 'DELIVERY_CONFIRMED' && body.data['order_number'] === order.orderNumber,
  );
  expect(sent).toHaveLength(5);
});

test('the last webhook of an order is sent again after its workflow has ended', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('ACCEPTED');
  await until(async () => (await sentOf(service, order)).join() === 'DELIVERED 1');
  let answers = 0;
  merchant.receiver.answerWith(() => (++answers === 1 ? 503 : 200));
  await order.update('cancel');
  await until(async () => (await sentOf(service, order))[1] === 'DELIVERED 2');
  await until(async () => (await order.handle.describe()).status.name === 'COMPLETED');
});

test('the sweep has one sent whose process died during the attempt', async ({
  service,
  merchant,
  orders,
}) => {
  merchant.receiver.answerWith(() => 200);
  const order = await orders.in('PAID');
  await until(async () => (await sentOf(service, order)).join() === 'DELIVERED 1,DELIVERED 1');
  const { sql } = service;
  // What the process leaves that has recorded the event, and has begun the attempt.
  const [delivery] = await sql<[{ deliveryId: string }]>`
    UPDATE webhook_deliveries d SET state = 'PENDING', settled_at = NULL,
      next_attempt_at = service_now() - interval '1 second', wake_at = service_now() + interval '1 hour'
    FROM order_events e
    WHERE e.event_id = d.event_id AND e.order_number = ${order.orderNumber} AND e.sequence = 2
    RETURNING delivery_id`;
  const { deliveryId } = delivery;
  const attempt = { kind: 'scheduled', token: 'of a dead process', dueBy: null } as const;
  await createAttemptLog(sql).lease({ ...attempt, deliveryId });
  await sweep(service);
  expect((await sentOf(service, order))[1]).toBe('PENDING 1');
  await sql`
    UPDATE webhook_deliveries SET wake_at = service_now() - interval '1 second',
      attempt_until = service_now() - interval '1 second'
    WHERE delivery_id = ${deliveryId}`;
  await sweep(service);
  await until(async () => (await sentOf(service, order))[1] === 'DELIVERED 2');
  expect(await sql`SELECT FROM wakeups WHERE cause_id = ${deliveryId}`).toEqual([]);
});

const LEASE = { wakeAfterMs: ATTEMPT_LEASE_MS, leaseMs: ATTEMPT_LEASE_MS };

/** A PAID order whose next step this process records as one does that makes the first attempt of its webhook. */
async function recordLeased(service: TestService, order: DirectOrder) {
  await until(async () => (await sentOf(service, order)).join() === 'DELIVERED 1,DELIVERED 1');
  const { step } = await changeOf(service, order, { type: 'deliver' });
  const recordStep = createStepRecorder({ ...service.deps, firstAttempt: LEASE });
  const write = () => recordStep({ orderNumber: order.orderNumber, step });
  const result = await write();
  if (result.outcome !== 'recorded' || result.leased === null) throw new Error(result.outcome);
  return { ...result, leased: result.leased, writeAgain: write };
}

test('the statement of a step leases its delivery to the process that makes the first attempt', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  const { deps } = service;
  const { leased, writeAgain } = await recordLeased(service, order);
  expect(leased.orderNumber).toBe(order.orderNumber);
  const other = { ...leased, kind: 'manual', token: 'another', dueBy: null } as const;
  expect(await deps.attemptLog.lease(other)).toBeUndefined();
  // The same step again, as after a lost answer: the delivery is not leased a second time.
  const again = await writeAgain();
  expect(again).toMatchObject({ outcome: 'recorded', leased: null });
  expect(await attemptLeased(deps, leased)).toEqual({ outcome: 'accepted' });
  expect((await sentOf(service, order))[2]).toBe('DELIVERED 1');
});

test('a process that hung since the step leases the delivery again', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  const { leased } = await recordLeased(service, order);
  const late = { ...leased, askedAtMs: leased.askedAtMs - 60_000 };
  // Another process has made the attempt meanwhile.
  await service.sql`
    UPDATE webhook_deliveries SET state = 'DELIVERED', attempt_token = NULL, attempt_until = NULL
    WHERE delivery_id = ${leased.deliveryId}`;
  expect(await attemptLeased(service.deps, late)).toEqual({ outcome: 'accepted' });
  expect((await sentOf(service, order))[2]).toBe('DELIVERED 0');
});

test('the sweep has a delivery sent whose process died after the step', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  const { deliveryId } = (await recordLeased(service, order)).leased;
  await sweep(service);
  expect((await sentOf(service, order))[2]).toBe('PENDING 0');
  await service.sql`
    UPDATE webhook_deliveries SET wake_at = service_now() - interval '1 second',
      attempt_until = service_now() - interval '1 second'
    WHERE delivery_id = ${deliveryId}`;
  await sweep(service);
  await until(async () => (await sentOf(service, order))[2] === 'DELIVERED 1');
});

test('the sweep has a delivery sent whose order has ended, and whose workflow is lost', async ({
  service,
  orders,
}) => {
  const order = await orders.in('CANCELLED');
  const are = (sent: string) => async () =>
    (await sentOf(service, order)).join() === `${sent},${sent}`;
  await until(are('DELIVERED 1'));
  await order.handle.result();
  const dueFor = (minutes: number) => service.sql`
    UPDATE webhook_deliveries d SET state = 'PENDING', settled_at = NULL, wake_at = NULL, failed_attempts = 1,
      next_attempt_at = service_now() - ${minutes} * interval '1 minute'
    FROM order_events e WHERE e.event_id = d.event_id AND e.order_number = ${order.orderNumber}`;
  await dueFor(59);
  await sweep(service);
  expect(await are('PENDING 1')()).toBe(true);
  await dueFor(61);
  await sweep(service);
  await until(are('DELIVERED 2'));
});

test('a fault before the attempt leaves the delivery to the workflow', async ({
  service,
  orders,
}) => {
  const order = await orders.in('ACCEPTED');
  await until(async () => (await sentOf(service, order)).join() === 'DELIVERED 1');
  const attemptLog = {
    ...service.deps.attemptLog,
    lease: () => Promise.reject(new Error('The database is away')),
  };
  const webhooks = createBackgroundAttempts({ ...service.deps, attemptLog, handOverAfterMs: 0 });
  webhooks.begin({ orderNumber: order.orderNumber, deliveryId: 'a delivery' });
  await until(async () => (await eventNames(order.handle)).includes('WORKFLOW_EXECUTION_SIGNALED'));
});
