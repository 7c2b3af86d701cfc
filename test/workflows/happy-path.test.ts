import { expect } from 'vitest';
import { serviceTest } from '../support/service-test.ts';

const HOUR_MS = 3_600_000;

const test = serviceTest({ time: 'skipping' });

test('a delivered order completes after 24 hours without a dispute, and its merchant is notified', async ({
  service,
}) => {
  const { sandbox, receiver } = await service.newMerchant();
  const order = await sandbox.create();
  expect(order.status).toBe('ACCEPTED');
  expect((await sandbox.help(order, 'pay')).body.data.status).toBe('PAID');
  const delivered = await sandbox.post(`/orders/${order.order_number}/deliver`);
  expect(delivered.body.data.status).toBe('DELIVERED');
  await service.skip(24 * HOUR_MS + 1000);
  await receiver.until(4);
  const { body } = await sandbox.get(`/orders/${order.order_number}`);
  expect(body.data.status).toBe('COMPLETED');
  // A webhook does not wait for the one before it.
  const inTurn = receiver.received.toSorted((a, b) => a.body.sequence - b.body.sequence);
  expect(inTurn.map(({ event }) => event)).toEqual([
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'DELIVERY_CONFIRMED',
    'ORDER_COMPLETED',
  ]);
});
