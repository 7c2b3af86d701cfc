import { expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });

const MOVED_OFTEN = 'This sandbox order has been moved 500 times; create another';

/** As if an order had been moved so often before; the commands of both helpers count together. */
const movedBefore = ({ sql }: TestService, { order_number }: Order, times: number) => sql`
  INSERT INTO order_commands (order_number, command_id, name, state, body, actor, reason, merchant_id, received_at)
  SELECT order_number, 'move:' || n, CASE WHEN n % 2 = 0 THEN 'advance' ELSE 'failPayment' END, 'DONE', '{}',
    'key:mk_test_x', '', merchant_id, now()
  FROM orders, generate_series(1, ${times}::integer) n WHERE order_number = ${order_number}`;

test('an order is moved at most 500 times by advance and fail-payment in all, and nothing else is bound by it', async ({
  service,
  merchant: { sandbox, merchantId },
}) => {
  const order = await sandbox.create();
  await movedBefore(service, order, 498);
  // Refused moves, and failed payments that the gateway reports, do not count.
  await service.sql`
    INSERT INTO order_commands (order_number, command_id, name, state, body, actor, reason, merchant_id, received_at)
    VALUES (${order.order_number}, 'refused', 'advance', 'REFUSED', '{}', 'key:mk_test_x', '', ${merchantId}, now()),
      (${order.order_number}, 'at-gateway', 'failPayment', 'DONE', '{}', 'gateway', '', ${merchantId}, now())`;
  const advance = (key: string) =>
    sandbox.post(
      `/test-helpers/orders/${order.order_number}/advance`,
      { seconds: 1 },
      { 'Idempotency-Key': key },
    );
  const answers = await Promise.all(['a', 'b', 'c', 'd'].map(advance));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(2);
  expect(statuses.filter((status) => status === 400)).toHaveLength(2);
  const accepted = ['a', 'b', 'c', 'd'][statuses.indexOf(200)] ?? '';
  // A repeat moves nothing.
  expect((await advance(accepted)).status).toBe(200);
  for (const [helper, body] of [
    ['advance', { seconds: 1 }],
    ['fail-payment', undefined],
  ] as const) {
    const refused = await sandbox.help(order, helper, body);
    expect([refused.status, refused.body.message]).toEqual([400, MOVED_OFTEN]);
  }
  expect((await sandbox.help(order, 'pay')).status).toBe(200);
  expect((await sandbox.command(order, 'deliver')).status).toBe(200);
  expect((await sandbox.help(order, 'dispute', { reason: 'It never arrived' })).status).toBe(200);
});

test('the limit covers the clock of an order that has ended, too', async ({
  service,
  merchant: { sandbox },
}) => {
  const order = await sandbox.create();
  await sandbox.command(order, 'cancel');
  await movedBefore(service, order, 500);
  const { status, body } = await sandbox.help(order, 'advance', { seconds: 1 });
  expect([status, body.message]).toEqual([400, MOVED_OFTEN]);
});
