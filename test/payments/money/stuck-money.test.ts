import { expect } from 'vitest';
import { findStuckMoney, inspectStuck } from '../../../src/payments/operators/stuck-money.ts';
import { createWorkflowInspector } from '../../../src/temporal/pending-activities.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { silentTemporalClient } from '../../support/silent-temporal.ts';
import { until } from '../../support/until.ts';

const MINUTE_MS = 60_000;

const test = serviceTest({ time: 'real', callbacks: false, merchant: { webhooks: false } });
test.beforeEach(({ service }) => service.clock.set(0));

const stuckIn = async ({ deps }: TestService) =>
  (await findStuckMoney(deps.sql, 50)).stuck.map(({ kind, orderNumber }) => [kind, orderNumber]);
const fault = { kind: 'error', path: '/v1/payments/*/refund' } as const;

test('a refund is stuck after five minutes, with its attempts, last error and next try', async ({
  service,
  orders,
  gateway,
}) => {
  const { endFault } = await gateway.addFault(fault);
  const order = await orders.in('DISPUTE_OPEN');
  await order.update('accept');
  await order.untilStep('REFUND_STARTED');
  await service.clock.set(4 * MINUTE_MS);
  expect(await stuckIn(service)).not.toContainEqual(['refunding', order.orderNumber]);
  await service.clock.set(6 * MINUTE_MS);
  expect(await stuckIn(service)).toContainEqual(['refunding', order.orderNumber]);

  const inspector = createWorkflowInspector(service.temporal.client);
  const inspected = async () => {
    const { stuck } = await findStuckMoney(service.deps.sql, 50);
    const found = await inspectStuck(inspector, stuck);
    return found.find(
      ({ orderNumber, call }) => orderNumber === order.orderNumber && call.state === 'waiting',
    );
  };
  expect(await until(inspected)).toMatchObject({
    kind: 'refunding',
    environment: 'sandbox',
    amountPaise: 49_950,
    hasBegun: true,
    workflowId: order.orderNumber,
    call: { attempt: expect.any(Number), lastError: expect.any(String) },
  });
  await endFault();
  await order.untilStatus('REFUNDED');
  expect(await stuckIn(service)).not.toContainEqual(['refunding', order.orderNumber]);
});

test('a release that may not begin is stuck, and shows that it has not begun', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  await service.sql`
    UPDATE orders SET completes_at = service_now() - interval '6 minutes'
    WHERE order_number = ${order.orderNumber}`;
  const { stuck } = await findStuckMoney(service.deps.sql, 50);
  expect(stuck.find(({ orderNumber }) => orderNumber === order.orderNumber)).toMatchObject({
    kind: 'releasing',
    hasBegun: false,
  });
});

test('a hold is stuck until the gateway holds the funds', async ({ service, orders }) => {
  const order = await orders.in('PAID');
  await service.clock.set(6 * MINUTE_MS);
  expect(await stuckIn(service)).toContainEqual(['holding', order.orderNumber]);
  await service.sql`UPDATE payments SET held_at = now() WHERE order_number = ${order.orderNumber}`;
  expect(await stuckIn(service)).not.toContainEqual(['holding', order.orderNumber]);
});

test('a surplus refund is stuck, under the workflow that makes it', async ({ service, orders }) => {
  const order = await orders.in('PAID');
  await service.sql`
    INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise)
    VALUES ('razorpay', 'pay_surplus', 'sandbox', ${order.orderNumber}, 700)`;
  await service.sql`
    INSERT INTO surplus_refunds (gateway, gateway_payment_id, order_number, amount_paise, reason)
    VALUES ('razorpay', 'pay_surplus', ${order.orderNumber}, 700, 'already_paid')`;
  await service.clock.set(6 * MINUTE_MS);
  const { stuck } = await findStuckMoney(service.deps.sql, 50);
  const surplus = stuck.find(({ kind }) => kind === 'refunding_surplus');
  expect(surplus).toMatchObject({ amountPaise: 700, workflowId: 'refund-razorpay-pay_surplus' });
  const inspector = createWorkflowInspector(service.temporal.client);
  await expect
    .poll(async () => (await inspectStuck(inspector, surplus ? [surplus] : []))[0]?.call)
    .toEqual({ state: 'no_workflow' });
});

test('a Temporal that does not answer leaves the state unknown', async ({ service, orders }) => {
  const order = await orders.in('PAID');
  await service.sql`
    UPDATE orders SET pending_operation = '{"kind": "releasing"}',
      updated_at = updated_at - interval '10 minutes'
    WHERE order_number = ${order.orderNumber}`;
  const client = await silentTemporalClient(service);
  const { stuck } = await findStuckMoney(service.deps.sql, 50);
  const inspected = await inspectStuck(createWorkflowInspector(client), stuck);
  expect(inspected.map(({ call }) => call.state)).toEqual(stuck.map(() => 'unknown'));
});
