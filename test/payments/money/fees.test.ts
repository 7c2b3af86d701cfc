import { expect } from 'vitest';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { runningLedger, showLedger } from '../../../src/ledger/public.ts';
import { alertOnDifferences } from '../../../src/payments/reconcile/compare-gateway.ts';
import { estimateFeesToCome } from '../../../src/payments/funds/fee-queries.ts';
import { reconcilePayments } from '../../../src/payments/reconcile/reconcile.ts';
import { ledgerOf, madeAtGateway, setSwitches, simulator } from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';

const MINUTE_MS = 60_000;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } });

test.beforeEach(async ({ service }) => {
  await service.clock.set(0);
  await setSwitches(service, 'all', { fees: true });
  await simulator(service, 'POST', '/balance', { amountPaise: 1_000_000 });
});

/** A paid order of INR 499.50: its payment costs 1179 paise and its transfer 148, both with 18 % GST. */
async function paidOrder(service: TestService, merchant: Merchant) {
  const order = await merchant.sandbox.create({ amount: 499.5 });
  await merchant.sandbox.help(order, 'pay');
  const { payment } = await merchant.sandbox.read(order);
  const gatewayPaymentId = payment!.gateway_payment_id;
  return {
    order,
    orderNumber: order.order_number,
    gatewayPaymentId,
    transfers: () => madeAtGateway(service, gatewayPaymentId, 'transfers'),
    async fees() {
      const [row] = await service.sql<[Record<string, number | null>]>`
        SELECT fee_paise, transfer_fee_paise FROM payments
        WHERE gateway_payment_id = ${gatewayPaymentId}`;
      return row;
    },
  };
}

const FEES = { feePaise: 1179, transferFeePaise: 148 };

test('the fees of a payment and of its transfer are booked to the platform, and no merchant sees them', async ({
  service,
  merchant,
}) => {
  const paid = await paidOrder(service, merchant);
  await reconcilePayments(service.deps);
  await reconcilePayments(service.deps);

  expect(await paid.fees()).toEqual(FEES);
  const { lines, balances, sum } = await ledgerOf(service, paid.orderNumber);
  expect(lines.toSorted()).toEqual([
    'capture: gateway_clearing → merchant_held 49950',
    'payment_fee: gateway_fees → gateway_clearing 1179',
    'transfer_fee: gateway_fees → gateway_clearing 148',
  ]);
  expect(balances).toEqual({
    gateway_clearing: -48_623,
    merchant_held: 49_950,
    gateway_fees: -1327,
  });
  expect(sum).toBe(0);
  expect(await verifyLedger(service.sql)).toMatchObject({ ok: true, faults: [] });
  const ledger = await showLedger(service.sql, paid.orderNumber);
  expect(runningLedger(ledger.lines).map(({ operation }) => operation)).toEqual(['capture']);
});

test('a fee that the gateway reports later is recorded by the daily comparison', async ({
  service,
  merchant,
}) => {
  const paid = await paidOrder(service, merchant);
  await reconcilePayments(service.deps);
  await service.sql`
    UPDATE payments SET fee_paise = NULL, transfer_fee_paise = NULL
    WHERE gateway_payment_id = ${paid.gatewayPaymentId}`;
  expect(await verifyLedger(service.sql)).toMatchObject({
    faults: [{ rule: 'account' }, { rule: 'account' }, { rule: 'fee' }],
  });
  expect(await alertOnDifferences(service.deps)).toEqual({ differing: 0 });
  expect(await paid.fees()).toEqual(FEES);
  expect((await verifyLedger(service.sql)).ok).toBe(true);
});

test('a fee that differs from the recorded one raises an alert', async ({ service, merchant }) => {
  const paid = await paidOrder(service, merchant);
  await reconcilePayments(service.deps);
  await service.sql`
    UPDATE payments SET fee_paise = fee_paise - 1
    WHERE gateway_payment_id = ${paid.gatewayPaymentId}`;
  expect(await alertOnDifferences(service.deps)).toEqual({ differing: 1 });
  const [alert] = await service.sql`
    SELECT details->>'message' AS message FROM alerts
    WHERE kind = 'gateway_differs' AND subject = ${`razorpay:${paid.gatewayPaymentId}`}`;
  expect(alert).toEqual({
    message: expect.stringContaining(
      'the payment has cost 1178 paise, but the gateway says 1179',
    ) as string,
  });
  await service.sql`
    UPDATE payments SET fee_paise = fee_paise + 1
    WHERE gateway_payment_id = ${paid.gatewayPaymentId}`;
});

test('transfers that lack balance raise one alert with the missing amount, until they are made', async ({
  service,
  merchant,
}) => {
  const orders = [await paidOrder(service, merchant), await paidOrder(service, merchant)];
  await setSwitches(service, 'all', { transfersStay: 'failed' });
  const openAlerts = () => service.sql<{ kind: string; subject: string; details: object }[]>`
    SELECT kind, subject, details FROM alerts
    WHERE cleared_at IS NULL AND kind IN ('gateway_refused', 'gateway_balance_low')`;

  await reconcilePayments(service.deps);
  await reconcilePayments(service.deps);
  expect(await openAlerts()).toEqual([
    {
      kind: 'gateway_balance_low',
      subject: 'razorpay:sandbox',
      details: expect.objectContaining({
        message:
          "The platform's balance at the gateway is too small for 2 transfers: at most INR 26.54 is missing",
        missingPaise: 2 * (1179 + 148),
      }) as object,
    },
  ]);

  await setSwitches(service, 'all', { transfersStay: null });
  await service.clock.set(61 * MINUTE_MS);
  await reconcilePayments(service.deps);
  for (const order of orders) {
    expect((await order.transfers()).filter(({ status }) => status === 'processed')).toHaveLength(
      1,
    );
  }
  await reconcilePayments(service.deps);
  expect(await openAlerts()).toEqual([]);
});

test('the fees of open orders are estimated from those that the gateway has charged', async ({
  service,
  merchant,
}) => {
  await paidOrder(service, merchant);
  await reconcilePayments(service.deps);
  const estimate = async () => {
    const [row] = await estimateFeesToCome(service.sql);
    return row!;
  };
  const before = await estimate();
  expect(before).toMatchObject({ gateway: 'razorpay', environment: 'sandbox' });
  const unpaid = await merchant.sandbox.create({ amount: 1000 });
  const after = await estimate();
  expect(after.unpaidPaise - before.unpaidPaise).toBe(100_000);
  const rate = after.paymentRate! + after.transferRate!;
  expect(rate).toBeCloseTo(0.0266, 3);
  expect(after.costPaise).toBe(
    Math.ceil(after.unpaidPaise * rate + after.untransferredPaise * after.transferRate!),
  );
  await merchant.sandbox.post(`/orders/${unpaid.order_number}/cancel`);
});
