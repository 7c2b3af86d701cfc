import { expect } from 'vitest';
import { createAttemptLog } from '../../src/webhooks/schedule/attempt-log.ts';
import { createBackgroundAttempts } from '../../src/webhooks/schedule/background-attempts.ts';
import { sweep } from '../support/gateway.ts';
import { eventNames } from '../../dev/orders/history.ts';
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
  await createAttemptLog(sql).begin({ ...attempt, deliveryId });
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

test('a fault before the attempt leaves the delivery to the workflow', async ({ service }) => {
  const attempts = {
    ...service.deps.attempts,
    begin: () => Promise.reject(new Error('The database is away')),
  };
  const woken: string[] = [];
  const webhooks = createBackgroundAttempts(
    { ...service.deps, attempts, handOverAfterMs: 0 },
    async (orderNumber) => woken.push(orderNumber),
  );
  webhooks.begin({ orderNumber: 'ORD1', deliveryId: 'a delivery' });
  await until(() => woken.join() === 'ORD1');
});
