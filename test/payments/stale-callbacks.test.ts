import { expect } from 'vitest';
import { findUnappliedCapture } from '../../src/payments/queries.ts';
import {
  atRazorpay,
  reconcile,
  reconcileLater,
  refundInDashboard,
  simulator,
} from '../support/gateway.ts';
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
const recorded = ({ sql }: TestService, paymentId: string) =>
  findUnappliedCapture(sql, atRazorpay(paymentId));

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
  await until(async () => (await recorded(service, paymentId)) !== undefined);
  await reconcileLater(service);
  expect(await recorded(service, paymentId)).toMatchObject({ isConfirmed: false });
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
  await until(async () => (await recorded(service, paymentId)) !== undefined);
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
  const { order, body, paymentId } = await kit.aPaymentNotYetHeardOf();
  const { endFault } = await gateway.addFault({ kind: 'error', method: 'GET', path: PAYMENT });
  await kit.callBack(body);
  await until(async () => (await recorded(service, paymentId)) !== undefined);
  await endFault();
  const { status } = await merchant.sandbox.command(order, 'cancel');
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
