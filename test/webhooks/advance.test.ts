import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { aRefusingMerchant, attemptsOf, deliveriesOf, untilDelivery } from './deliveries.ts';

const test = serviceTest({ time: 'real' });

const MINUTE_SECONDS = 60;
const HOUR_SECONDS = 60 * MINUTE_SECONDS;

/** An order whose first webhook was refused once, and waits five minutes. */
async function refusedOrder(service: TestService) {
  const merchant = await aRefusingMerchant(service);
  const order = await merchant.sandbox.create();
  const path = `/test-helpers/orders/${order.order_number}/advance`;
  return {
    ...merchant,
    order,
    advance: (seconds: number, headers?: Record<string, string>) =>
      merchant.sandbox.post(path, { seconds }, headers),
    untilAttempts: (count: number) =>
      untilDelivery(service, order.order_number, ({ attempts }) => attempts.length === count),
  };
}

test('advance moves the webhook attempts of an order, until the fifth', async ({ service }) => {
  const { order, advance, untilAttempts } = await refusedOrder(service);
  const delays = [5 * MINUTE_SECONDS, 30 * MINUTE_SECONDS, 2 * HOUR_SECONDS, 12 * HOUR_SECONDS];
  for (const [index, seconds] of delays.entries()) {
    await untilAttempts(index + 1);
    expect((await advance(seconds)).status).toBe(200);
  }
  const isFailed = ({ state }: { state: string }) => state === 'FAILED';
  const delivery = await untilDelivery(service, order.order_number, isFailed);
  expect(attemptsOf(delivery)).toEqual(Array.from({ length: 5 }, () => 'scheduled 500'));
});

test('an attempt that is not due yet comes nearer by as much, and is made at its time', async ({
  service,
}) => {
  const { order, advance, untilAttempts, receiver } = await refusedOrder(service);
  const before = await untilAttempts(1);
  await advance(100);
  const [after] = await deliveriesOf(service, order.order_number);
  const dueAtMs = before.nextAttemptAt?.getTime() ?? 0;
  expect(after?.nextAttemptAt?.getTime()).toBe(dueAtMs - 100_000);
  expect(after?.attempts).toHaveLength(1);
  receiver.answerWith(() => 200);
  await advance(200);
  const delivered = await untilAttempts(2);
  expect([delivered.state, ...attemptsOf(delivered)]).toEqual([
    'DELIVERED',
    'scheduled 500',
    'scheduled 200',
  ]);
});

test('of a final order, only the webhook attempts move; without one it is 400', async ({
  service,
}) => {
  const { order, advance, untilAttempts, receiver, sandbox } = await refusedOrder(service);
  await untilAttempts(1);
  await sandbox.cancel(order);
  await until(async () => {
    const deliveries = await deliveriesOf(service, order.order_number);
    return deliveries.length === 2 && deliveries.every(({ attempts }) => attempts.length === 1);
  });
  const cancelled = await sandbox.read(order);
  const key = { 'Idempotency-Key': randomUUID() };
  receiver.answerWith(() => 200);
  const answer = await advance(6 * MINUTE_SECONDS, key);
  expect([answer.status, answer.body.data]).toEqual([200, cancelled]);
  await untilAttempts(2);
  await receiver.until(2, ({ event }) => event === 'ORDER_CREATED');
  const again = await advance(6 * MINUTE_SECONDS, key);
  expect([again.status, again.headers.get('Idempotent-Replayed')]).toEqual([200, 'true']);
  // The second attempt of the other webhook may still be under way.
  for (;;) {
    const { status } = await advance(6 * MINUTE_SECONDS);
    if (status === 400) break;
  }
  await until(async () => {
    const deliveries = await deliveriesOf(service, order.order_number);
    return deliveries.length === 2 && deliveries.every(({ state }) => state === 'DELIVERED');
  });
});
