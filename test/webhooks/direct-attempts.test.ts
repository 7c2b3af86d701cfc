import { expect } from 'vitest';
import { createAttemptLog } from '../../src/webhooks/attempt-log.ts';
import { createFirstAttempts } from '../../src/webhooks/first-attempts.ts';
import { sweep } from '../support/gateway.ts';
import { eventNames } from '../support/history.ts';
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

test('a webhook to an endpoint that lately answered quickly needs no activity', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  await until(async () => (await sentOf(service, order)).length === 3);
  await until(async () => (await sentOf(service, order)).every((sent) => sent === 'DELIVERED 1'));
  expect((await eventNames(order.handle)).filter(isScheduled)).toEqual([]);
});

test('one that the endpoint refuses then is sent again by the workflow', async ({
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
  const [delivery] = await sql<[{ deliveryId: string }]>`
    UPDATE webhook_deliveries d SET state = 'PENDING', settled_at = NULL,
      next_attempt_at = service_now() - interval '1 second'
    FROM order_events e
    WHERE e.event_id = d.event_id AND e.order_number = ${order.orderNumber} AND e.sequence = 2
    RETURNING delivery_id`;
  // Otherwise the sweep signals the order for another reason.
  await sql`UPDATE order_steps SET unacknowledged = false WHERE order_number = ${order.orderNumber}`;
  const attempt = { kind: 'scheduled', token: 'of a dead process', dueBy: null } as const;
  await createAttemptLog(sql).begin({ ...attempt, ...delivery, isDirect: true });
  await sweep(service);
  expect((await sentOf(service, order))[1]).toBe('PENDING 1');
  await sql`
    UPDATE webhook_deliveries SET attempt_until = service_now() - interval '1 second'
    WHERE delivery_id = ${delivery.deliveryId}`;
  await sweep(service);
  await until(async () => (await sentOf(service, order))[1] === 'DELIVERED 2');
});

test('a fault before the attempt leaves the delivery to the workflow', async ({ service }) => {
  const attempts = {
    ...service.deps.attempts,
    begin: () => Promise.reject(new Error('The database is away')),
  };
  const firstAttempts = createFirstAttempts({ ...service.deps, attempts });
  const handOver = () => Promise.reject(new Error('It is not handed over'));
  expect(await firstAttempts.attemptDirectly('a delivery', handOver)).toBe(false);
});
