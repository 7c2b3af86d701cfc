import { expect } from 'vitest';
import { refundSurplus } from '../../../src/payments/funds/refunds.ts';
import { writeCapture } from '../../../src/payments/captures/capture-queries.ts';
import {
  atRazorpay,
  capturedWhole,
  madeAtGateway,
  SANDBOX,
  simulator,
  setSwitches,
} from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import type { Orders } from '../../support/orders.ts';
import { serviceTest } from '../../support/service-test.ts';
import { inParallel } from '../../support/in-parallel.ts';
import { untilDone } from '../gateway-harness.ts';

const AMOUNT_PAISE = 49_950;
const REFUND = '/v1/payments/*/refund';

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

/** A cancelled order whose buyer has a QR code that can still be paid. */
async function aCancelledOrder(orders: Orders, merchant: Merchant) {
  const { order, pay } = await orders.beingPaid();
  expect((await merchant.sandbox.cancel(order)).status).toBe(200);
  return { order, payLate: () => pay({ late: true }) };
}

test('of 1,000 refunds whose responses are lost, none is made twice', async ({
  service,
  merchant,
  orders,
  gateway,
}) => {
  const ORDERS = 10;
  await simulator(service, 'PATCH', '/callbacks', { dropProbability: 1 });
  const made = await Promise.all(
    Array.from({ length: ORDERS }, () => aCancelledOrder(orders, merchant)),
  );
  const paymentIds: string[] = [];
  await inParallel(
    Array.from({ length: 1000 }, (_, index) => index),
    8,
    async (index) => {
      const { order, payLate } = made[index % ORDERS]!;
      const gatewayPaymentId = await payLate();
      paymentIds.push(gatewayPaymentId);
      const paid = { orderNumber: order.order_number, amountPaise: AMOUNT_PAISE };
      const payment = capturedWhole(gatewayPaymentId, paid);
      await writeCapture(service.sql, { at: SANDBOX, payment });
    },
  );
  // Only the service's look-up prevents it: the gateway ignores its keys, and loses look-ups as well.
  await setSwitches(service, 'all', { honourIdempotencyKeys: false });
  const { hits } = await gateway.addFault({ kind: 'drop_answer', path: REFUND });
  await gateway.addFault({ kind: 'drop_answer', method: 'GET', probability: 0.2 });
  await inParallel(paymentIds, 8, (id) =>
    untilDone(() => refundSurplus(service.deps, atRazorpay(id))),
  );
  expect(await hits()).toBe(1000);
  await gateway.endFaults();
  const [sums] = await service.sql`
    SELECT count(*) AS refunded, sum(amount_paise)::bigint AS paise FROM surplus_refunds
    WHERE processed_at IS NOT NULL AND gateway_payment_id = ANY(${paymentIds})`;
  expect(sums).toEqual({ refunded: 1000, paise: 1000 * AMOUNT_PAISE });
  const refunds: number[] = [];
  await inParallel(paymentIds, 8, async (id) => {
    refunds.push((await madeAtGateway(service, id, 'refunds')).length);
  });
  expect(refunds).toEqual(Array.from({ length: 1000 }, () => 1));
  expect(await simulator(service, 'GET', '/totals')).toMatchObject({ isBalanced: true });
});
