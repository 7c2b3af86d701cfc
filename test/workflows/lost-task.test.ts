import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Command, OrderStatus } from '../../src/domain/index.ts';
import { findTarget, writeCommand } from '../../src/orders/commands/command-queries.ts';
import { eventNames } from '../../dev/orders/history.ts';
import { changeOf, inTransaction, writeAsLost } from '../support/differing-sides.ts';
import { recordDispute } from '../support/disputes.ts';
import { atRazorpay, CLOSING, sweep } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import { repeated } from '../support/repeated.ts';
import { serviceTest } from '../support/service-test.ts';
import { until } from '../support/until.ts';
import { A_BUYER, TEST_ACTOR } from '../support/actor.ts';

const DAY_SECONDS = 24 * 3600;

const test = serviceTest({
  time: 'real',
  settings: { SWEEP_AFTER_SECONDS: '0.001' },
  callbacks: false,
})
  /** An order whose last command was carried out by a workflow task that was lost. */
  .extend(
    'orderWithLost',
    ({ service, orders }) =>
      async (status: OrderStatus, command: Command) => {
        const order = await orders.in(status);
        await writeAsLost(service, order, await changeOf(service, order, command), {
          commandId: `${command.type}:${randomUUID()}`,
        });
        return order;
      },
  );

test('the sweep notifies an order of its lost delivery, and the order continues', async ({
  service,
  merchant,
  orderWithLost,
}) => {
  const order = await orderWithLost('PAID', { type: 'deliver' });
  await sweep(service);
  await merchant.receiver.until(
    1,
    ({ body, event }) =>
      event === 'DELIVERY_CONFIRMED' && body.data['order_number'] === order.orderNumber,
  );
  await order.update('advance', { seconds: DAY_SECONDS });
  await order.untilStatus('COMPLETED');
  expect(await order.handle.result()).toMatchObject({ status: 'COMPLETED', webhookEvents: 4 });
});

test.for<[Command['type'], OrderStatus]>([
  ['accept', 'DISPUTE_OPEN'],
  ['refund', 'PAID'],
])(
  'a refund that began with a lost workflow task is made, once: %s',
  async ([type, status], { service, orderWithLost }) => {
    const order = await orderWithLost(status, { type } as Command);
    await Promise.all([sweep(service), sweep(service)]);
    await order.untilStatus('REFUNDED');
    expect((await order.kinds()).slice(-2)).toEqual(['REFUND_STARTED', 'REFUND_PROCESSED']);
  },
);

test('a repeat of a command whose workflow task was lost leaves the order to the sweep', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('PAID');
  const { orderNumber } = order;
  const key = randomUUID();
  const client = { orderNumber, commandId: { operation: 'refund', key } };
  const { commandId } = await findTarget(service.sql, client);
  const body = { reason: 'Out of stock' };
  const origin = { actor: TEST_ACTOR, ...body };
  const command = { orderNumber, commandId, name: 'refund', body, origin, wakeAfterMs: 0 } as const;
  await writeCommand(service.sql, command);
  const change = await changeOf(service, order, { type: 'refund' });
  await writeAsLost(service, order, change, { commandId });
  const path = `/orders/${orderNumber}/refund`;
  const { status } = await merchant.sandbox.post(path, body, { 'Idempotency-Key': key });
  expect(status).toBe(200);
  await sweep(service);
  await order.untilStatus('REFUNDED');
});

test('a workflow behind the database refuses no dispute', async ({ merchant, orderWithLost }) => {
  const order = await orderWithLost('DISPUTE_OPEN', { type: 'resolve' });
  const reason = 'It broke again on the second day';
  const answer = await merchant.sandbox.help({ order_number: order.orderNumber }, 'dispute', {
    reason,
  });
  expect([answer.status, answer.body.data.status]).toEqual([200, 'DISPUTE_OPEN']);
  expect(await order.row()).toMatchObject({ disputeCount: 2, disputeReason: reason });
});

test('a dispute beside one that the workflow does not have yet is refused by the row, and nobody waits', async ({
  service,
  merchant,
  orderWithLost,
}) => {
  const order = await orderWithLost('DELIVERED', { type: 'dispute', receivedAtMs: Date.now() });
  const answer = await merchant.sandbox.help({ order_number: order.orderNumber }, 'dispute', {
    reason: 'The second one of this moment',
  });
  expect([answer.status, answer.body.message]).toEqual([
    400,
    'Cannot raise dispute; order must be in PAID or DELIVERED status',
  ]);
  await sweep(service);
  await order.update('resolve');
  expect(await order.row()).toMatchObject({ status: 'DELIVERED', disputeCount: 1 });
});

test('a refusal that meets its command carried out, by an equal request, is no refusal', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const { orderNumber } = order;
  const key = randomUUID();
  const client = { orderNumber, commandId: { operation: 'dispute/resolve', key } };
  const body = { resolution: 'A new one is on its way' };
  const origin = { actor: TEST_ACTOR, reason: 'Asked for' };
  const { commandId } = await writeCommand(service.sql, {
    ...client,
    name: 'resolve',
    body,
    origin,
  });
  const answer = await service.sql.begin(async (sql) => {
    await sql`SELECT FROM orders WHERE order_number = ${orderNumber} FOR NO KEY UPDATE`;
    const path = `/orders/${orderNumber}/dispute/resolve`;
    const asked = merchant.sandbox.post(path, body, { 'Idempotency-Key': key });
    // The workflow has refused it, and its row is about to be.
    await untilBlocked(service, 'refuse_command');
    const equal = inTransaction(service, sql);
    const dispute = { type: 'dispute', receivedAtMs: Date.now() } as const;
    await writeAsLost(equal, order, await changeOf(equal, order, dispute), {});
    const resolved = await changeOf(equal, order, { type: 'resolve' });
    await writeAsLost(equal, order, resolved, { commandId });
    return { asked };
  });
  const { status, headers, body: answered } = await answer.asked;
  expect([status, answered.data.status]).toEqual([200, 'DELIVERED']);
  expect(headers.get('Idempotent-Replayed')).toBe('true');
  const [command] = await service.sql`
    SELECT state FROM order_commands WHERE command_id = ${commandId}`;
  expect(command).toEqual({ state: 'DONE' });
});

test('no command is refused before an order has read its row', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('ACCEPTED');
  const gatewayPaymentId = await order.capture();
  await writeAsLost(service, order, await changeOf(service, order, { type: 'pay' }), {
    payment: atRazorpay(gatewayPaymentId),
  });
  await service.clock.set(2000);
  const { status, body } = await merchant.sandbox.post(`/orders/${order.orderNumber}/deliver`);
  await service.clock.set(0);
  expect([status, body.data.status]).toEqual([200, 'DELIVERED']);
  expect(await order.kinds()).toEqual(['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DELIVERY_CONFIRMED']);
});

test('a cancel succeeds even if the workflow task that wrote its last step is lost', async ({
  service,
  orders,
  gateway,
}) => {
  const { order_number, cancel } = await orders.beingPaid();
  const order = await orders.workflowOf({ order_number });
  const { endFault } = await gateway.addFault({ kind: 'held', path: CLOSING });
  const key = randomUUID();
  const cancelling = repeated(() => cancel({ 'Idempotency-Key': key }));
  await order.untilStep('CLOSING_PAYMENT');
  const cancelled = await changeOf(service, order, { type: 'sessionClosed' });
  const client = { orderNumber: order_number, commandId: { operation: 'cancel', key } };
  const { commandId } = await findTarget(service.sql, client);
  await writeAsLost(service, order, cancelled, { commandId });
  await service.deps.workflows.wake(order_number);
  await endFault();
  const answer = await cancelling;
  expect([answer.status, answer.body.data.status]).toEqual([200, 'CANCELLED']);
  expect(await order.handle.result()).toMatchObject({ status: 'CANCELLED' });
});

test('a cancel is refused if the lost workflow task has begun the expiry of the payment link', async ({
  service,
  orders,
}) => {
  const { order_number, cancel } = await orders.beingPaid();
  const order = await orders.workflowOf({ order_number });
  const tomorrowMs = Date.now() + DAY_SECONDS * 1000;
  const expired = await changeOf(service, order, { type: 'expire' }, tomorrowMs);
  await writeAsLost(service, order, expired, {});
  expect((await cancel()).status).toBe(400);
  await order.untilStatus('CANCELLED');
});

test.for([
  ['before its order is cancelled', true],
  ['afterwards', false],
] as const)(
  'a cancel whose first workflow task is lost keeps its reason, and its repeat is answered %s',
  async ([, isEarly], { service, merchant, orders, gateway }) => {
    const { order_number: orderNumber } = await orders.beingPaid();
    const order = await orders.workflowOf({ order_number: orderNumber });
    const key = randomUUID();
    const client = { orderNumber, commandId: { operation: 'cancel', key } };
    const body = { reason: 'Out of stock' };
    const origin = { actor: TEST_ACTOR, ...body };
    const command = { ...client, name: 'cancel', body, origin, wakeAfterMs: 0 } as const;
    const { commandId } = await writeCommand(service.sql, command);
    const change = await changeOf(service, order, { type: 'cancel' });
    // The order's session is open, so that this records CLOSING_PAYMENT.
    await writeAsLost(service, order, change, { commandId, ifNoSessionOpen: change.step });
    const closing = isEarly ? await gateway.addFault({ kind: 'held', path: CLOSING }) : null;
    // The close is given up after 3.5 s, and a sweep has more to do.
    await (closing ? service.deps.workflows.wake(orderNumber) : sweep(service));
    if (closing) await until(async () => (await closing.hits()) === 1);
    else await order.untilStatus('CANCELLED');
    const repeating = merchant.sandbox.post(`/orders/${orderNumber}/cancel`, body, {
      'Idempotency-Key': key,
    });
    const isAccepted = async () =>
      (await eventNames(order.handle)).includes('WORKFLOW_EXECUTION_UPDATE_ACCEPTED');
    if (closing) await Promise.race([repeating, until(isAccepted)]);
    await closing?.endFault();
    const repeat = await repeating;
    expect([repeat.status, repeat.headers.get('Idempotent-Replayed')]).toEqual([200, 'true']);
    expect(await order.row()).toMatchObject({ cancelReason: 'Out of stock' });
  },
);

test('a dispute that was raised does not wait a second time', async ({ service, orders }) => {
  const order = await orders.in('DELIVERED');
  const commandId = `dispute:${randomUUID()}`;
  const raise = () =>
    recordDispute(service.sql, order.orderNumber, { commandId, reason: 'Torn', actor: A_BUYER });
  const received = await raise();
  await order.update('dispute', { commandId, receivedAtMs: received.receivedAt.getTime() });
  await order.update('resolve');
  expect(await raise()).toMatchObject({ receivedAt: received.receivedAt, replayed: true });
  expect(await order.row()).toMatchObject({ status: 'DELIVERED', waitingDisputeId: null });
});

test('a message alone does not settle an order: the settlement must be in the database', async ({
  orders,
  gateway,
}) => {
  const order = await orders.in('DISPUTE_OPEN');
  const { endFault } = await gateway.addFault({ kind: 'error', path: '/v1/payments/*/refund' });
  await order.update('accept');
  const ELSEWHERE = 'Cannot settle from here; use admin order settle';
  expect(await order.refusalOf('settle')).toBe(ELSEWHERE);
  expect(await order.refusalOf('settle', { outcome: 'refunded' })).toBe(ELSEWHERE);
  expect(await order.refusalOf('settle', { outcome: 'released' })).toBe(ELSEWHERE);
  await endFault();
  await order.untilStatus('REFUNDED');
});
