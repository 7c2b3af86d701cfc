import { expect } from 'vitest';
import { databaseTime } from '../../src/db/client.ts';
import { findUnappliedState } from '../../src/orders/public.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import {
  atRazorpay,
  orderBeingPaid,
  reconcile,
  reconcileLater,
  refundInDashboard,
  SANDBOX,
  setSwitches,
  simulator,
} from '../support/gateway.ts';
import type { OrderRef } from '../support/api-client.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createCallbackKit } from './callback-kit.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } }).extend(
  'kit',
  { scope: 'file' },
  ({ service, merchant }) => createCallbackKit(service, merchant),
);

/** No callback is sent automatically: each test decides what is reported, and when. */
test.beforeEach(async ({ service }) => {
  await service.clock.set(0);
  await simulator(service, 'PATCH', '/callbacks', { hold: true });
});

const PAYMENT = '/v1/payments/*';
const alertsAbout = ({ sql }: TestService, paymentId: string) =>
  sql<{ kind: string; isOpen: boolean }[]>`
    SELECT kind, cleared_at IS NULL AS is_open FROM alerts
    WHERE subject = ${`razorpay:${paymentId}`}`;
const stateOf = ({ sql }: TestService, { order_number }: OrderRef) =>
  findUnappliedState(sql, order_number);

test('an old callback does not make an order PAID whose payment was refunded since', async ({
  service,
  kit,
}) => {
  const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
  await refundInDashboard(service, paymentId);
  expect((await kit.callBack(body)).status).toBe(200);
  await until(async () => (await alertsAbout(service, paymentId)).length > 0);
  expect(await alertsAbout(service, paymentId)).toEqual([{ kind: 'unfit_capture', isOpen: true }]);
  expect((await kit.read(order)).status).toBe('ACCEPTED');
  expect(await kit.events(order)).toEqual(['ORDER_CREATED']);
});

test('a reported payment waits while the gateway cannot be asked, and an alert comes after ten minutes', async ({
  service,
  kit,
  gateway,
}) => {
  const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
  const { endFault } = await gateway.addFault({ kind: 'error', method: 'GET' });
  expect((await kit.callBack(body)).status).toBe(200);
  expect(await stateOf(service, order)).toBe('reported');
  await reconcileLater(service);
  expect(await stateOf(service, order)).toBe('reported');
  expect(await alertsAbout(service, paymentId)).toEqual([]);
  await service.clock.advance(10 * 60_000);
  await reconcileLater(service);
  expect(await alertsAbout(service, paymentId)).toEqual([
    { kind: 'payment_unconfirmed', isOpen: true },
  ]);
  expect((await kit.read(order)).status).toBe('ACCEPTED');

  await endFault();
  await reconcileLater(service);
  await kit.untilStatus(order, 'PAID');
  await until(async () => {
    await reconcile(service);
    const [alert] = await alertsAbout(service, paymentId);
    return alert?.isOpen === false;
  });
});

test('a Signal alone does not make an order PAID', async ({ service, kit, gateway }) => {
  const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
  await gateway.addFault({ kind: 'error', method: 'GET', path: PAYMENT });
  await kit.callBack(body);
  expect(await stateOf(service, order)).toBe('reported');
  const handle = service.temporal.client.workflow.getHandle(order.order_number);
  await expect(handle.executeUpdate('pay', { args: [atRazorpay(paymentId)] })).rejects.toThrow();
  expect((await kit.read(order)).status).toBe('ACCEPTED');
});

test('a cancel asks the gateway for a payment that was only reported', async ({
  service,
  merchant,
  kit,
  gateway,
}) => {
  const { order, body } = await kit.aPaymentNotYetHeardOf();
  const { endFault } = await gateway.addFault({ kind: 'error', method: 'GET', path: PAYMENT });
  await kit.callBack(body);
  expect(await stateOf(service, order)).toBe('reported');
  await endFault();
  const { status } = await merchant.sandbox.cancel(order);
  expect(status).toBe(400);
  await kit.untilStatus(order, 'PAID');
});

test('a lost notification is applied only if the gateway still has the payment', async ({
  service,
  kit,
  orders,
}) => {
  const order = await orders.in('ACCEPTED');
  const paymentId = await order.capture();
  await refundInDashboard(service, paymentId);
  await service.clock.advance(24 * 60 * 60_000 - 60_000);
  await reconcileLater(service);
  await until(async () => (await alertsAbout(service, paymentId)).length > 0);
  expect((await kit.events({ order_number: order.orderNumber })).includes('PAYMENT_SUCCESS')).toBe(
    false,
  );
});

/** A callback that says of a payment that it is captured. */
function capturedIn(body: string, changes: object): string {
  const callback = JSON.parse(body) as { payload: { payment: { entity: object } } };
  Object.assign(callback.payload.payment.entity, { status: 'captured', ...changes });
  return JSON.stringify(callback);
}

test('a payment that the gateway does not know is asked about for a week, and then its callback counts no more', async ({
  service,
  kit,
}) => {
  const { order } = await kit.anOrderBeingPaid();
  const { body } = await kit.aPaymentNotYetHeardOf();
  const notes = { order_number: order.order_number };
  const forged = capturedIn(body, { id: 'pay_Forged00000001', notes });
  expect((await kit.callBack(forged)).status).toBe(200);
  await service.clock.advance(11 * 60_000);
  await reconcile(service);
  expect(await stateOf(service, order)).toBe('reported');
  expect(await alertsAbout(service, 'pay_Forged00000001')).toEqual([
    { kind: 'payment_unconfirmed', isOpen: true },
  ]);
  await service.clock.advance(7 * 24 * 60 * 60_000);
  expect(await stateOf(service, order)).toBe(null);
});

test('a payment that the gateway has not captured waits until it is captured', async ({
  service,
  merchant,
  kit,
}) => {
  const order = await orderBeingPaid(service, merchant);
  await setSwitches(service, order.gatewaySessionId, { paymentsStartAuthorized: true });
  const paymentId = await order.pay();
  const { body } = await kit.aPaymentNotYetHeardOf();
  const notes = { order_number: order.order_number, session_id: order.sessionId };
  await kit.callBack(capturedIn(body, { id: paymentId, notes }));
  await reconcileLater(service);
  expect(await stateOf(service, order)).toBe('reported');
  expect((await order.read()).status).toBe('ACCEPTED');
  await simulator(service, 'POST', `/payments/${paymentId}/capture`);
  await reconcileLater(service);
  await order.untilStatus('PAID');
});

test('an old callback of a payment that was refunded since changes nothing', async ({
  service,
  merchant,
  kit,
}) => {
  const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
  await kit.callBack(body);
  await kit.untilStatus(order, 'PAID');
  await merchant.sandbox.command(order, 'refund', { reason: 'It is sold out' });
  await kit.untilStatus(order, 'REFUNDED');
  const facts = () => service.sql`
    SELECT p.*, o.step_number FROM payments p JOIN orders o USING (order_number)
    WHERE p.gateway_payment_id = ${paymentId}`;
  const before = await facts();
  await service.clock.advance(3 * 24 * 60 * 60_000);
  expect((await kit.callBack(body)).status).toBe(200);
  expect(await facts()).toEqual(before);
  expect(await alertsAbout(service, paymentId)).toEqual([]);
});

test('an answer from before a callback does not confirm what the callback reports', async ({
  service,
  kit,
  gateway,
}) => {
  const { order, gatewaySessionId, paymentId, body } = await kit.aPaymentNotYetHeardOf();
  const port = service.deps.gateways.forOrder(SANDBOX);
  const askedAt = await databaseTime(service.sql);
  const [payment] = await port.listSessionPayments(gatewaySessionId);
  const { endFault } = await gateway.addFault({ kind: 'error', method: 'GET', path: PAYMENT });
  await kit.callBack(body);
  const recorded = await writeCapture(service.sql, { at: SANDBOX, payment: payment!, askedAt });
  expect(recorded).toMatchObject({ fits: true, next: null });
  const unconfirmed = () => service.sql`
    SELECT FROM unconfirmed_callbacks WHERE gateway_payment_id = ${paymentId}`;
  expect(await unconfirmed()).toHaveLength(1);
  await endFault();
  await reconcileLater(service);
  expect(await unconfirmed()).toHaveLength(0);
  await kit.untilStatus(order, 'PAID');
});

test('a refund of a payment that nobody has reported is recorded later if the gateway cannot be asked', async ({
  service,
  kit,
  gateway,
}) => {
  const { gatewaySessionId, paymentId } = await kit.aPaymentNotYetHeardOf();
  await service.sql`
    UPDATE payment_sessions SET next_check_at = NULL WHERE gateway_session_id = ${gatewaySessionId}`;
  await refundInDashboard(service, paymentId, 100);
  const refund = (await kit.bodiesAbout(paymentId)).find((body) =>
    body.includes('refund.processed'),
  );
  const { endFault } = await gateway.addFault({ kind: 'error', method: 'GET', path: PAYMENT });
  expect((await kit.callBack(refund ?? '')).status).toBe(200);
  const reversals = () => service.sql`
    SELECT kind, amount_paise FROM gateway_reversals WHERE gateway_payment_id = ${paymentId}`;
  expect(await reversals()).toEqual([]);
  await endFault();
  await reconcileLater(service);
  expect(await reversals()).toEqual([{ kind: 'refund', amountPaise: 100 }]);
  expect(await alertsAbout(service, paymentId)).toEqual([{ kind: 'unfit_capture', isOpen: true }]);
});
