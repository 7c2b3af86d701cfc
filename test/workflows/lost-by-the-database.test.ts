import { WorkflowNotFoundError } from '@temporalio/client';
import { expect } from 'vitest';
import { clearAlert, listAlerts } from '../../src/alerts/alerts.ts';
import { compareOrders } from '../../src/orders/wake/compare-orders.ts';
import { alertLostOrders } from '../../src/orders/wake/lost-orders.ts';
import { wakeOrder } from '../../src/orders/wake/wake-order.ts';
import { recordSessionPayments } from '../../src/payments/captures/captures.ts';
import { A_BUYER } from '../support/actor.ts';
import { adminCli } from '../support/admin-cli.ts';
import { backUp, loseOrder } from '../support/backup.ts';
import { recordDispute } from '../support/disputes.ts';
import { madeAtGateway, payAtGateway, SANDBOX, sessionOf, simulator } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { untilTemporalWaits } from '../webhooks/deliveries.ts';

const test = serviceTest({ time: 'real', callbacks: false });

/** Recovers as an operator does after restoring a backup, and returns the output with its alerts. */
async function recoverAll({ env }: TestService) {
  const { code, stdout } = await adminCli(env).run('order', 'recover', '--all', '--json');
  expect(code).toBe(0);
  return JSON.parse(stdout) as { woken: number; sessions: number; lost: number };
}

const openAlerts = async ({ sql }: TestService, subject: string) =>
  (await listAlerts(sql, { subject }, 100)).alerts.map(({ kind }) => kind);

async function withLostSession(
  service: TestService,
  { sandbox }: Awaited<ReturnType<TestService['newMerchant']>>,
  before: (gatewaySessionId: string) => Promise<unknown> = async () => undefined,
) {
  const order = await sandbox.create();
  const restore = await backUp(service, order.order_number);
  await sandbox.post(`/orders/${order.order_number}/payment-sessions`);
  const { gatewaySessionId } = await sessionOf(service, order);
  await before(gatewaySessionId);
  await restore();
  return { order, gatewaySessionId };
}

test('a payment that a restored database has lost reaches its order', async ({
  service,
  merchant,
  gateway,
}) => {
  const { order } = await withLostSession(service, merchant, (gatewaySessionId) =>
    payAtGateway(service, gatewaySessionId),
  );
  expect((await merchant.sandbox.read(order)).status).toBe('ACCEPTED');
  const path = '/v1/payments/qr_codes/*/payments';
  const { endFault } = await gateway.addFault({ kind: 'error', path });
  const interrupted = await adminCli(service.env).run('order', 'recover', '--all', '--json');
  const { failed } = JSON.parse(interrupted.stdout) as { failed: number };
  expect([interrupted.code, failed > 0]).toEqual([1, true]);
  await endFault();
  expect((await recoverAll(service)).sessions).toBeGreaterThan(0);
  await merchant.sandbox.untilStatus(order, 'PAID');
});

test('a payment that its order had taken comes back, also if some of it was refunded since', async ({
  service,
  merchant,
}) => {
  const order = await merchant.sandbox.create();
  const restore = await backUp(service, order.order_number);
  await merchant.sandbox.help(order, 'pay');
  const { payment } = await merchant.sandbox.read(order);
  const { gatewaySessionId } = await sessionOf(service, order);
  await restore();
  const { gateway_payment_id: gatewayPaymentId } = payment!;
  await simulator(service, 'POST', `/payments/${gatewayPaymentId}/refund`, { amountPaise: 150 });
  // Reported before the workflow writes its steps again.
  await recordSessionPayments(service.deps, { at: SANDBOX, gatewaySessionId });
  const subject = `razorpay:${gatewayPaymentId}`;
  expect(await openAlerts(service, subject)).toEqual(['unfit_capture']);
  await recoverAll(service);
  await merchant.sandbox.untilStatus(order, 'PAID');
  expect(await openAlerts(service, subject)).toEqual([]);
});

test('a lost payment that its order cannot take is refunded', async ({ service, merchant }) => {
  let second = '';
  const { order } = await withLostSession(service, merchant, async (gatewaySessionId) => {
    await payAtGateway(service, gatewaySessionId);
    second = await payAtGateway(service, gatewaySessionId, { late: true });
  });
  await recoverAll(service);
  await merchant.sandbox.untilStatus(order, 'PAID');
  await until(async () => (await madeAtGateway(service, second, 'refunds')).length === 1);
});

test('steps that a restored database has lost come back also if the status is the same without them', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const restore = await backUp(service, order.orderNumber);
  const ref = { order_number: order.orderNumber };
  await merchant.sandbox.help(ref, 'dispute', { reason: 'The parcel was late' });
  await merchant.sandbox.post(`/orders/${order.orderNumber}/dispute/resolve`, {
    resolution: 'A part of the price is returned',
  });
  const kinds = await order.kinds();
  expect(kinds.slice(-2)).toEqual(['DISPUTE_RAISED', 'DISPUTE_RESOLVED']);
  await restore();
  expect((await order.row()).status).toBe('DELIVERED');
  expect(await order.kinds()).toEqual(kinds.slice(0, -2));
  expect((await recoverAll(service)).woken).toBeGreaterThan(0);
  await until(async () => (await order.kinds()).length === kinds.length);
  expect(await order.kinds()).toEqual(kinds);
});

test('a dispute that comes before the steps of an earlier one were written again is not lost with them', async ({
  service,
  orders,
}) => {
  const order = await orders.in('DELIVERED');
  const restore = await backUp(service, order.orderNumber);
  await order.update('dispute');
  await order.update('resolve');
  await restore();
  // The API dies before it sends the dispute.
  const dispute = { commandId: 'dispute:2', reason: 'The parcel was empty', actor: A_BUYER };
  await recordDispute(service.sql, order.orderNumber, dispute);
  // The steps are written again before the workflow learns of it.
  await order.update('advance', { seconds: 1 });
  await wakeOrder(service.deps, order.orderNumber);
  await order.untilStatus('DISPUTE_OPEN');
  expect(await order.row()).toMatchObject({ disputeCount: 2 });
});

test('a payment session that a restored database has lost can no longer be paid', async ({
  service,
  merchant,
}) => {
  const { order, gatewaySessionId } = await withLostSession(service, merchant);
  await recoverAll(service);
  await expect(payAtGateway(service, gatewaySessionId)).rejects.toThrow('The QR Code is closed');
  const { status } = await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
  expect(status).toBe(201);
  const { gatewaySessionId: next } = await sessionOf(service, order);
  await recoverAll(service);
  // A session that the database has stays open.
  await payAtGateway(service, next);
});

test('a payment of an order that a restored database has lost raises an alert that names both', async ({
  service,
}) => {
  const gateway = service.deps.gateways.forOrder(SANDBOX);
  const { gatewaySessionId } = await gateway.openSession({
    orderNumber: 'ORD01LOST',
    sessionId: 'ps_lost',
    amountPaise: 10_000,
    expiresAtMs: Date.now() + 900_000,
    description: 'Order ORD01LOST',
  });
  const gatewayPaymentId = await payAtGateway(service, gatewaySessionId);
  await recoverAll(service);
  const { alerts } = await listAlerts(service.sql, { subject: `razorpay:${gatewayPaymentId}` }, 10);
  expect(alerts).toMatchObject([
    { kind: 'payment_without_order', details: { orderNumber: 'ORD01LOST' } },
  ]);
  expect(await simulator(service, 'GET', '/totals')).toMatchObject({ isBalanced: true });
});

test('a finished order that a restored database has lost raises an alert', async ({
  service,
  merchant,
  orders,
}) => {
  const since = new Date(Date.now() - 60_000);
  const ended = await orders.in('CANCELLED');
  await ended.handle.result();
  const orderNumber = 'ORD01LOSTANDENDED';
  await service.deps.workflows.start({
    orderNumber,
    merchantId: merchant.merchantId,
    amountPaise: 10_000,
    createdAtMs: Date.now(),
    paymentLinkExpiresAtMs: Date.now() + 1000_000,
    terms: { environment: 'sandbox', completionWindowMs: 1000, disputeAnswerMs: 1000 },
  });
  await until(async () => (await openAlerts(service, orderNumber)).length > 0);
  await service.temporal.client.workflow.getHandle(orderNumber).terminate('A test');
  await clearAlert(service.sql, 'order_without_row', orderNumber, 'test');
  // What Temporal lists lags behind.
  await until(async () => (await alertLostOrders(service.deps, since)) > 0);
  expect(await openAlerts(service, orderNumber)).toEqual(['order_without_row']);
  expect(await openAlerts(service, ended.orderNumber)).toEqual([]);
  expect((await recoverAll(service)).lost).toBe(1);
});

test('a lost order whose workflow waits only for its webhooks raises an alert', async ({
  service,
  merchant,
  orders,
}) => {
  merchant.receiver.answerWith(({ event }) => (event === 'ORDER_CANCELLED' ? 500 : 200));
  const order = await orders.in('CANCELLED');
  // The first attempt was made without it; it makes the others, and the next one in five minutes.
  await untilTemporalWaits(service, order.orderNumber, 1);
  await compareOrders(service.deps);
  expect(await openAlerts(service, order.orderNumber)).toEqual([]);
  await loseOrder(service, order.orderNumber);
  // What Temporal lists lags behind.
  await until(async () => {
    await compareOrders(service.deps);
    return (await openAlerts(service, order.orderNumber)).length > 0;
  });
  expect(await openAlerts(service, order.orderNumber)).toEqual(['order_without_row']);
  merchant.receiver.answerWith(() => 200);
  await order.handle.terminate('A test').catch((error: unknown) => {
    // Without its rows it may have ended by itself.
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  });
});

test.for([
  ['CANCELLED', 'ORDER_CANCELLED', 'whose workflow has ended'],
  ['PAID', 'PAYMENT_SUCCESS', 'whose workflow runs'],
] as const)(
  'a webhook whose arrival a restored database has lost is sent again: of a %s order, %s, %s',
  async ([status, event], { service, merchant, orders }) => {
    const order = await orders.in(status);
    const attempts = async () => service.sql<{ state: string; count: number }[]>`
      SELECT d.state, count(a.attempt_id)::integer AS count
      FROM webhook_deliveries d JOIN order_events e USING (event_id)
      LEFT JOIN webhook_attempts a USING (delivery_id)
      WHERE e.order_number = ${order.orderNumber} AND e.type = ${event} GROUP BY d.state`;
    await until(async () => (await attempts())[0]?.state === 'DELIVERED');
    if (status === 'CANCELLED') await order.handle.result();
    await service.sql`
      UPDATE webhook_deliveries SET state = 'PENDING', settled_at = NULL, next_attempt_at = created_at
      WHERE event_id = (SELECT event_id FROM order_events
        WHERE order_number = ${order.orderNumber} AND type = ${event})`;
    await recoverAll(service);
    await merchant.receiver.until(
      2,
      ({ event: sent, body }) => sent === event && body.data['order_number'] === order.orderNumber,
    );
    await until(async () => (await attempts())[0]?.state === 'DELIVERED');
    expect(await attempts()).toEqual([{ state: 'DELIVERED', count: 2 }]);
    expect(await order.kinds()).toEqual(['ORDER_CREATED', event]);
    if (status === 'CANCELLED') {
      expect(await order.handle.result()).toMatchObject({ status, webhookEvents: 2 });
    }
  },
);
