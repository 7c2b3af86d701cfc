import { expect } from 'vitest';
import { recordPayment } from '../../src/payments/captures/captures.ts';
import { orderBeingPaid, SANDBOX, simulator, setSwitches } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

const alertsAbout = async ({ sql }: TestService, paymentId: string) =>
  sql`SELECT kind FROM alerts WHERE subject = ${`razorpay:${paymentId}`}`;

test.for(['none', 'empty_list'])(
  'a payment that has no notes of its QR code (%s) reaches its order without an alert',
  async (paymentNotes, { service, merchant }) => {
    const order = await orderBeingPaid(service, merchant);
    await setSwitches(service, order.gatewaySessionId, { paymentNotes });
    const paymentId = await order.pay();
    await order.untilStatus('PAID');
    await simulator(service, 'POST', '/callbacks/idle');
    expect(await alertsAbout(service, paymentId)).toEqual([]);
  },
);

test('a failed payment and a payment of another product raise no alert', async ({
  service,
  merchant,
}) => {
  const order = await orderBeingPaid(service, merchant);
  await setSwitches(service, order.gatewaySessionId, {
    paymentNotes: 'none',
  });
  await simulator(service, 'POST', `/qr_codes/${order.gatewaySessionId}/fail`);
  await simulator(service, 'POST', '/callbacks/idle');
  const payment = {
    gatewayPaymentId: 'pay_OfAnotherProduct',
    status: 'captured',
    amountPaise: 10_000,
    refundedPaise: 0,
    currency: 'INR',
    orderNumber: null,
    sessionId: null,
    failure: null,
    utr: null,
    feePaise: null,
  } as const;
  await recordPayment(service.deps, { at: SANDBOX, payment });
  expect(await service.sql`SELECT kind FROM alerts WHERE kind = 'payment_without_order'`).toEqual(
    [],
  );
});
