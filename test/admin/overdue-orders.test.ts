import { expect } from 'vitest';
import { recoverForOperator } from '../../src/orders/commands/operator-commands.ts';
import { findOverdueOrders } from '../../src/orders/wake/wakeups.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });
test.beforeEach(({ service }) => service.clock.set(0));

const overdue = async ({ deps }: TestService) =>
  (await findOverdueOrders(deps.sql, 50)).orders.map(({ cause, orderNumber }) => [
    cause,
    orderNumber,
  ]);

test('an order whose workflow has not begun after two minutes is found until an operator recovers it', async ({
  service,
  orders,
}) => {
  const { orderNumber } = await orders.write();
  expect(await overdue(service)).toEqual([]);
  await service.clock.set(3 * 60_000);
  await service.sql`
    UPDATE order_wakeups SET written_at = written_at - interval '3 minutes'
    WHERE order_number = ${orderNumber}`;
  expect(await overdue(service)).toEqual([['creation', orderNumber]]);

  const actor = { name: 'operator:asha@example.com', address: '203.0.113.7' };
  expect(await recoverForOperator({ ...service.deps, actor }, orderNumber)).toBe('started');
  await expect.poll(() => overdue(service)).toEqual([]);
  expect(
    await service.sql`
      SELECT action, actor, address, merchant_id FROM audit_log WHERE subject = ${orderNumber}`,
  ).toMatchObject([{ action: 'order.recover', actor: actor.name, address: actor.address }]);
});

test('what has waited for longest comes first', async ({ service, orders }) => {
  const first = await orders.in('PAID');
  const second = await orders.in('PAID');
  const wait = (orderNumber: string, cause: string, minutes: number) => service.sql`
    INSERT INTO order_wakeups (order_number, cause, cause_id, written_at, due_at)
    SELECT ${orderNumber}, ${cause}::wakeup_cause, 'cmd_1', at, at
    FROM (SELECT now() - ${minutes} * interval '1 minute' AS at) AS times`;
  await wait(second.orderNumber, 'dispute', 8);
  await wait(first.orderNumber, 'command', 9);
  expect(await overdue(service)).toEqual([
    ['command', first.orderNumber],
    ['dispute', second.orderNumber],
  ]);
  expect(await findOverdueOrders(service.deps.sql, 1)).toMatchObject({ hasMore: true });
});
