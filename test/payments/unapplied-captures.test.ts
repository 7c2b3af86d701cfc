import { expect } from 'vitest';
import { open, post, textOf } from '../checkout/buyer.ts';
import {
  askGateway,
  madeAtGateway,
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

test.beforeEach(({ service }) => service.clock.set(0));

const CONFIRMING = 'Cannot pay; order must be in ACCEPTED status; its payment is being confirmed';
const LOOKED_AT = 'Cannot pay; order must be in ACCEPTED status; its payment is being looked at';

/** The alerts about a payment or an order, by kind, and whether they are open. */
async function alertsAbout({ sql }: TestService, subject: string) {
  const rows = await sql<{ kind: string; isOpen: boolean }[]>`
    SELECT kind, cleared_at IS NULL AS is_open FROM alerts WHERE subject = ${subject}`;
  return Object.fromEntries(rows.map(({ kind, isOpen }) => [kind, isOpen]));
}

test('a buyer whose payment only a callback has reported is not asked to pay again, whatever is away', async ({
  service,
  merchant,
  worker,
  kit,
  gateway,
}) => {
  const { sandbox } = merchant;
  const { order, body } = await kit.aPaymentNotYetHeardOf();
  const { endFault } = await gateway.addFault({ kind: 'reset' });
  await worker.whileStopped(async () => {
    expect((await kit.callBack(body)).status).toBe(200);
    // Long after the payment session has ended.
    for (const minutes of [0, 20]) {
      await service.clock.advance(minutes * 60_000);
      const page = await open(order.payment_url);
      expect(page.status).toBe(200);
      expect(textOf(page.html)).toContain(
        'was reported to us, and we are confirming it. Please do not pay again',
      );
      expect(page.html).not.toMatch(/upi:\/\/|<button/);
      expect((await post(`${order.payment_url}/sessions`)).html).not.toMatch(/upi:\/\/|<button/);
    }
    const refused = await sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    expect([refused.status, refused.body.message]).toEqual([400, CONFIRMING]);
    const { next } = await sandbox.timeline(order);
    expect(next?.action).toBe(
      'the payment link expires; the order is cancelled; its payment is being confirmed',
    );
  });
  await endFault();
  await reconcile(service);
  await kit.untilStatus(order, 'PAID');
});

test('an order whose payment was refunded in part before it took it says so, and can be paid again once all of it was refunded', async ({
  service,
  merchant,
  kit,
}) => {
  const { sandbox } = merchant;
  const { order, paymentId } = await kit.aPaymentNotYetHeardOf();
  await askGateway(service, 'POST', `/v1/payments/${paymentId}/refund`, { amount: 100 });
  await kit.release('as_created');
  const subject = `razorpay:${paymentId}`;
  await until(async () => (await alertsAbout(service, subject))['unfit_capture']);

  const page = await open(order.payment_url);
  expect(textOf(page.html)).toContain('Your payment is being looked at');
  expect(page.html).not.toMatch(/upi:\/\/|<button/);
  const refused = await sandbox.post(`/orders/${order.order_number}/payment-sessions`);
  expect([refused.status, refused.body.message]).toEqual([400, LOOKED_AT]);
  expect((await sandbox.timeline(order)).next?.action).toBe(
    'the payment link expires; the order is cancelled; its payment is being looked at',
  );

  // In two parts, of which the callbacks are lost.
  await simulator(service, 'PATCH', '/callbacks', { dropProbability: 1 });
  await refundInDashboard(service, paymentId, 20_000);
  await reconcileLater(service);
  expect((await sandbox.post(`/orders/${order.order_number}/payment-sessions`)).status).toBe(400);
  await refundInDashboard(service, paymentId);
  await simulator(service, 'PATCH', '/callbacks', { dropProbability: 0 });
  await reconcileLater(service);
  await reconcile(service);
  expect(await alertsAbout(service, subject)).toEqual({ unfit_capture: false });
  expect(textOf((await open(order.payment_url)).html)).toContain('Pay ₹499.50 by UPI');
  expect((await sandbox.help(order, 'pay')).body.data.status).toBe('PAID');
});

test('refunds whose callbacks arrive one by one make the order payable again', async ({
  service,
  merchant,
  kit,
}) => {
  const { order, paymentId } = await kit.aPaymentNotYetHeardOf();
  await askGateway(service, 'POST', `/v1/payments/${paymentId}/refund`, { amount: 100 });
  await kit.release('as_created');
  const subject = `razorpay:${paymentId}`;
  await until(async () => (await alertsAbout(service, subject))['unfit_capture']);
  await simulator(service, 'PATCH', '/callbacks', { hold: false });
  for (const amountPaise of [20_000, 29_850])
    await refundInDashboard(service, paymentId, amountPaise);
  await until(async () => (await merchant.sandbox.help(order, 'pay')).status === 200);
  await reconcile(service);
  expect(await alertsAbout(service, subject)).toEqual({ unfit_capture: false });
  const { order_number: orderNumber } = order;
  expect(await alertsAbout(service, orderNumber)).toEqual({ refunded_at_gateway: false });
});

test('the page of a cancelled order does not say that nothing was charged while its payment is looked at', async ({
  service,
  merchant,
  kit,
}) => {
  const { order, paymentId } = await kit.aPaymentNotYetHeardOf();
  await askGateway(service, 'POST', `/v1/payments/${paymentId}/refund`, { amount: 100 });
  const { body } = await merchant.sandbox.cancel(order);
  expect(body.data.status).toBe('CANCELLED');
  const text = textOf((await open(order.payment_url)).html);
  expect(text).toContain('Another payment of yours for this order is being looked at.');
  expect(text).not.toContain('Nothing was charged');
});

test('the alert about a refund at the gateway ends once the rest was refunded, by whomever', async ({
  service,
  merchant,
}) => {
  const { sandbox } = merchant;
  await simulator(service, 'PATCH', '/callbacks', { hold: false });
  const order = await sandbox.create();
  await sandbox.help(order, 'pay');
  const paymentId = (await sandbox.read(order)).payment?.gateway_payment_id ?? '';
  await refundInDashboard(service, paymentId, 10_000);
  const isOpen = async () =>
    (await alertsAbout(service, order.order_number))['refunded_at_gateway'];
  await until(async () => await isOpen());
  await reconcile(service);
  expect(await isOpen()).toBe(true);
  await sandbox.command(order, 'refund', { reason: 'It is sold out' });
  await sandbox.untilStatus(order, 'REFUNDED');
  await reconcile(service);
  expect(await isOpen()).toBe(false);
  expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(2);
});
