import { afterAll, beforeAll, expect, test } from 'vitest';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';

const HOUR_MS = 3_600_000;
let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  worker = await service.startWorker();
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

test('an order that is paid and delivered completes after 24 hours, and tells its merchant', async () => {
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
  expect(receiver.received.map(({ event }) => event)).toEqual([
    'ORDER_CREATED',
    'PAYMENT_SUCCESS',
    'DELIVERY_CONFIRMED',
    'ORDER_COMPLETED',
  ]);
});
