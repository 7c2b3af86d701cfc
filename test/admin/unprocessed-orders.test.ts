import { expect } from 'vitest';
import { findUnprocessedOrders } from '../../src/orders/unprocessed-orders.ts';
import { recoverForOperator } from '../../src/orders/operator-commands.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });
test.beforeEach(({ service }) => service.clock.set(0));

const unprocessed = async ({ deps }: TestService) =>
  (await findUnprocessedOrders(deps.sql, 50)).orders.map(({ problem, orderNumber }) => [
    problem,
    orderNumber,
  ]);

test('an order whose workflow has not begun after two minutes is found until an operator recovers it', async ({
  service,
  orders,
}) => {
  const { orderNumber } = await orders.write();
  expect(await unprocessed(service)).toEqual([]);
  await service.clock.set(3 * 60_000);
  await service.sql`
    UPDATE unstarted_orders SET created_at = created_at - interval '3 minutes'
    WHERE order_number = ${orderNumber}`;
  expect(await unprocessed(service)).toEqual([['not_started', orderNumber]]);

  const actor = { name: 'operator:asha@example.com', address: '203.0.113.7' };
  expect(await recoverForOperator({ ...service.deps, actor }, orderNumber)).toBe('started');
  await expect.poll(() => unprocessed(service)).toEqual([]);
  expect(
    await service.sql`
      SELECT action, actor, address, merchant_id FROM audit_log WHERE subject = ${orderNumber}`,
  ).toMatchObject([{ action: 'order.recover', actor: actor.name, address: actor.address }]);
});

test('an unacknowledged step and a waiting dispute are found, the oldest first', async ({
  service,
  orders,
}) => {
  const behind = await orders.in('PAID');
  const waiting = await orders.in('PAID');
  await service.sql`
    UPDATE order_steps SET unacknowledged = true, recorded_at = now() - interval '9 minutes'
    WHERE order_number = ${behind.orderNumber} AND step_number = 2`;
  await service.sql`
    UPDATE orders SET waiting_dispute_id = 'cmd_1',
      waiting_dispute_received_at = now() - interval '8 minutes'
    WHERE order_number = ${waiting.orderNumber}`;
  expect(await unprocessed(service)).toEqual([
    ['behind', behind.orderNumber],
    ['dispute_waiting', waiting.orderNumber],
  ]);
  expect(await findUnprocessedOrders(service.deps.sql, 1)).toMatchObject({ hasMore: true });
});
