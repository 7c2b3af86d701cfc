import { describe, expect } from 'vitest';
import { listAlerts } from '../../src/alerts/alerts.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { recordPayment } from '../../src/payments/captures/captures.ts';
import { writeCapture } from '../../src/payments/captures/capture-queries.ts';
import type { OrderRef } from '../support/api-client.ts';
import {
  askGateway,
  atRazorpay,
  ledgerOf,
  madeAtGateway,
  reconcileLater,
  SANDBOX,
  setSwitches,
  simulator,
} from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { createCallbackKit } from './callback-kit.ts';

const AMOUNT_PAISE = 49_950;

const test = serviceTest({ time: 'real', merchant: { webhooks: false } }).extend(
  'kit',
  { scope: 'file' },
  ({ service, merchant }) => createCallbackKit(service, merchant),
);

/** No callback is sent automatically: each test decides what is reported, and when. */
test.beforeEach(({ service }) => simulator(service, 'PATCH', '/callbacks', { hold: true }));

const refundAtGateway = (service: TestService, paymentId: string, amountPaise?: number) =>
  askGateway<{ id: string }>(service, 'POST', `/v1/payments/${paymentId}/refund`, {
    amount: amountPaise,
  });

const alertsAbout = ({ sql }: TestService, paymentId: string) =>
  sql<{ kind: string; count: number }[]>`
    SELECT kind, count FROM alerts WHERE subject = ${`razorpay:${paymentId}`}`;

const LOOKED_AT = 'Cannot pay; order must be in ACCEPTED status; its payment is being looked at';

/** The status of the order after the buyer paid again, or why that was refused. */
async function payAgain({ sandbox }: Merchant, order: OrderRef): Promise<string> {
  const { body } = await sandbox.help(order, 'pay');
  return body.data?.status ?? body.message;
}

function spokenOf(body: string, changes: object): string {
  const callback = JSON.parse(body) as { payload: { payment: { entity: object } } };
  Object.assign(callback.payload.payment.entity, changes);
  return JSON.stringify(callback);
}

/** Checks that the capture is recorded, has raised one alert, and has had no other effect. */
async function assertOnlyRecorded(
  service: TestService,
  order: OrderRef,
  paymentId: string,
  facts: object,
): Promise<void> {
  await until(async () => (await alertsAbout(service, paymentId)).length > 0);
  const rows = await service.sql`
    SELECT currency, gateway_status, refunded_paise, amount_paise FROM payments
    WHERE gateway_payment_id = ${paymentId}`;
  expect(rows).toEqual([
    {
      currency: 'INR',
      gatewayStatus: 'captured',
      refundedPaise: 0,
      amountPaise: AMOUNT_PAISE,
      ...facts,
    },
  ]);
  expect((await ledgerOf(service, order.order_number)).lines).toEqual([]);
  const refund = service.temporal.client.workflow.getHandle(`refund-razorpay-${paymentId}`);
  await expect(refund.describe()).rejects.toThrow('not found');
  // Checked repeatedly, long after it would count as lost.
  await service.clock.advance(11 * 60_000);
  await reconcileLater(service);
  await reconcileLater(service);
  expect(await alertsAbout(service, paymentId)).toEqual([{ kind: 'unfit_capture', count: 1 }]);
  expect(await verifyLedger(service.sql)).toMatchObject({ ok: true, capturesUnderWay: 0 });
}

describe('a capture that is not whole does not make an order PAID', () => {
  test.for<[string, number | undefined, object, string]>([
    ['wholly', undefined, { gatewayStatus: 'refunded', refundedPaise: AMOUNT_PAISE }, 'PAID'],
    ['in part', 100, { refundedPaise: 100 }, LOOKED_AT],
  ])(
    'a payment that was refunded %s at the gateway before reconciliation saw it',
    async ([_word, amountPaise, facts, then], { service, merchant, kit }) => {
      const { order, paymentId } = await kit.aPaymentNotYetHeardOf();
      await refundAtGateway(service, paymentId, amountPaise);
      await reconcileLater(service);
      await assertOnlyRecorded(service, order, paymentId, facts);
      expect((await kit.read(order)).status).toBe('ACCEPTED');
      expect(await payAgain(merchant, order)).toBe(then);
    },
  );

  test('a refund that is pending, and fails, does not count: the alert stays open, and the order is not paid again', async ({
    service,
    merchant,
    kit,
  }) => {
    const { order, paymentId } = await kit.aPaymentNotYetHeardOf();
    await setSwitches(service, paymentId, { refundsStartPending: true });
    const { id } = await refundAtGateway(service, paymentId);
    const assertLookedAt = async () => {
      await reconcileLater(service);
      await reconcileLater(service);
      const { alerts } = await listAlerts(service.sql, { subject: `razorpay:${paymentId}` }, 10);
      expect(alerts).toMatchObject([{ kind: 'unfit_capture' }]);
      expect(await payAgain(merchant, order)).toBe(LOOKED_AT);
    };
    await assertLookedAt();
    await simulator(service, 'POST', `/refunds/${id}/end`, { status: 'failed' });
    await service.clock.advance(3_600_000);
    await assertLookedAt();
    await setSwitches(service, paymentId, { refundsStartPending: null });
    await refundAtGateway(service, paymentId);
    await reconcileLater(service);
    expect(await payAgain(merchant, order)).toBe('PAID');
  });

  test('a payment in another currency', async ({ service, merchant, kit }) => {
    const { order, gatewaySessionId, paymentId } = await kit.aPaymentNotYetHeardOf();
    const gateway = service.deps.gateways.forOrder(SANDBOX);
    const [payment] = await gateway.listSessionPayments(gatewaySessionId);
    // The simulator has one currency.
    const report = { at: SANDBOX, payment: { ...payment!, currency: 'USD' } };
    await recordPayment(service.deps, report);
    await assertOnlyRecorded(service, order, paymentId, { currency: 'USD' });
    expect((await kit.read(order)).status).toBe('ACCEPTED');
    expect(await payAgain(merchant, order)).toBe(LOOKED_AT);
  });

  test('a payment that was refunded at the gateway, found by a cancel', async ({
    service,
    merchant,
    kit,
  }) => {
    const { order, paymentId } = await kit.aPaymentNotYetHeardOf();
    await refundAtGateway(service, paymentId);
    const cancelled = await merchant.sandbox.cancel(order);
    expect([cancelled.status, cancelled.body.data]).toMatchObject([200, { status: 'CANCELLED' }]);
    const facts = { gatewayStatus: 'refunded', refundedPaise: AMOUNT_PAISE };
    await assertOnlyRecorded(service, order, paymentId, facts);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  });

  test('a capture that was refunded at the gateway before its order was notified', async ({
    service,
    kit,
    orders,
  }) => {
    const { order, paymentId, gatewaySessionId } = await kit.aPaymentNotYetHeardOf();
    const gateway = service.deps.gateways.forOrder(SANDBOX);
    const [payment] = await gateway.listSessionPayments(gatewaySessionId);
    // Recorded by a process that died before it notified the order.
    await writeCapture(service.sql, { at: SANDBOX, payment: payment! });
    await refundAtGateway(service, paymentId);
    await reconcileLater(service);
    const workflow = await orders.workflowOf(order);
    expect(await workflow.refusalOf('pay', atRazorpay(paymentId))).toBe(
      'The payment is not recorded as captured for this order',
    );
    const facts = { gatewayStatus: 'refunded', refundedPaise: AMOUNT_PAISE };
    await assertOnlyRecorded(service, order, paymentId, facts);
  });
});

test.for<[string, object]>([
  ['that it is refunded', { status: 'refunded', amount_refunded: AMOUNT_PAISE }],
  ['that some of it is refunded', { amount_refunded: 50 }],
  ['another currency', { currency: 'USD' }],
  ['another amount', { amount: AMOUNT_PAISE + 100 }],
])(
  'a callback that says %s is not believed if the gateway has the payment whole',
  async ([, changes], { service, kit }) => {
    const { order, paymentId, body } = await kit.aPaymentNotYetHeardOf();
    expect((await kit.callBack(spokenOf(body, changes))).status).toBe(200);
    await kit.untilStatus(order, 'PAID');
    expect(await alertsAbout(service, paymentId)).toEqual([]);
  },
);
