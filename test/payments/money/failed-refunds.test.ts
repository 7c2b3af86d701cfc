import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { clearResolvedAlerts } from '../../../src/alerts/alerts.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { writeCallback } from '../../../src/payments/captures/capture-queries.ts';
import { alertOnDifferences } from '../../../src/payments/reconcile/compare-gateway.ts';
import { bookRefundFailed, finishRefundAgain } from '../../../src/payments/funds/refund-queries.ts';
import { bookMovement } from '../../../src/payments/funds/funds-queries.ts';
import { refundSurplus } from '../../../src/payments/funds/refunds.ts';
import { writeReversal } from '../../../src/payments/reversals/reversal-queries.ts';
import { settleOutside } from '../../../src/payments/settlement/settle-outside.ts';
import { refundWorkflowId } from '../../../src/contracts/ids.ts';
import { TEST_ACTOR } from '../../support/actor.ts';
import {
  atRazorpay,
  ledgerOf,
  madeAtGateway,
  openChargeback,
  orderBeingPaid,
  reconcile,
  SANDBOX,
  setSwitches,
  simulator,
  withCallbacks,
  withoutCallbacks,
} from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { whenMoneyIsFree } from '../../support/when-money-is-free.ts';

const AMOUNT_PAISE = 49_950;
const MINUTE_MS = 60_000;
const BOOKED_BACK = [
  `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
  `refund_failed: refunds → merchant_held ${AMOUNT_PAISE}`,
];
const BOOKED_AGAIN = [...BOOKED_BACK, `refund: merchant_held → refunds ${AMOUNT_PAISE}`];

const test = serviceTest({ time: 'real' });

test.afterEach(async ({ service }) => {
  await withCallbacks(service);
  await service.clock.set(0);
  await setSwitches(service, 'all', { refundsStartPending: false });
  const { ok, faults } = await verifyLedger(service.sql);
  expect({ ok, faults }).toEqual({ ok: true, faults: [] });
});

const openAlerts = async ({ sql }: TestService, gatewayPaymentId: string) =>
  (
    await sql<{ kind: string }[]>`
      SELECT kind FROM alerts
      WHERE subject = ${`razorpay:${gatewayPaymentId}`} AND cleared_at IS NULL`
  ).map(({ kind }) => kind);

const untilNoAlert = (service: TestService, gatewayPaymentId: string) =>
  until(async () => {
    await clearResolvedAlerts(service.sql);
    return (await openAlerts(service, gatewayPaymentId)).length === 0;
  });

const refundWorkflow = ({ temporal }: TestService, gatewayPaymentId: string) =>
  temporal.client.workflow.getHandle(refundWorkflowId(atRazorpay(gatewayPaymentId)));

/** The bank returns a refund, after the gateway has reported it as processed. */
async function failRefund(service: TestService, refundId: string) {
  await simulator(service, 'POST', `/refunds/${refundId}/end`, { status: 'failed' });
  await simulator(service, 'POST', '/callbacks/idle');
}

/** A refund fails, the next one is refused, and the workflow that would repeat it is lost. */
async function loseFailedRefund(service: TestService, gatewayPaymentId: string) {
  const [refund] = await madeAtGateway(service, gatewayPaymentId, 'refunds');
  await setSwitches(service, gatewayPaymentId, { refundsRefused: true });
  await failRefund(service, refund!.id);
  const isRefused = async () =>
    (await openAlerts(service, gatewayPaymentId)).includes('gateway_refused');
  await until(isRefused);
  await refundWorkflow(service, gatewayPaymentId).terminate();
  await setSwitches(service, gatewayPaymentId, { refundsRefused: null });
}

test('a refund of an order that fails after it was processed is booked back and made again', async ({
  service,
  merchant,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const events = await order.events();
  const [first] = await order.made('refunds');
  await setSwitches(service, 'all', { refundsStartPending: true });
  await failRefund(service, first!.id);
  await until(async () => (await order.made('refunds')).length === 2);
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_BACK);
  expect(await merchant.sandbox.read(order)).toMatchObject({
    status: 'REFUNDED',
    refund: { amount: AMOUNT_PAISE / 100, processed_at: null },
  });
  expect(await openAlerts(service, await order.paymentId())).toEqual(['refund_failed']);
  const { ok } = await verifyLedger(service.sql);
  expect(ok).toBe(true);

  const [second] = await order.made('refunds');
  await simulator(service, 'POST', `/refunds/${second!.id}/end`, { status: 'processed' });
  await until(async () => (await merchant.sandbox.read(order)).refund?.processed_at !== null);
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
  await untilNoAlert(service, await order.paymentId());
  const { entries } = await merchant.sandbox.timeline(order);
  expect(entries.slice(-2).map(({ kind }) => kind)).toEqual(['REFUND_FAILED', 'REFUNDED_AGAIN']);
  expect(await order.events()).toEqual(events);
});

test('a refund that fails twice is made a third time', async ({ service, orders }) => {
  const order = await orders.in('REFUNDED');
  for (const count of [2, 3]) {
    const [latest] = await order.made('refunds');
    await failRefund(service, latest!.id);
    await until(async () => (await order.made('refunds')).length === count);
    await until(async () => (await order.row()).refundProcessedAt !== null);
  }
  const lines = (await order.ledgerLines()).slice(1);
  expect(lines).toEqual([...BOOKED_BACK, ...BOOKED_BACK, BOOKED_BACK[0]]);
});

test('a callback about a refund that has not failed books nothing', async ({ service, orders }) => {
  const order = await orders.in('REFUNDED');
  const [refund] = await order.made('refunds');
  await failRefund(service, refund!.id);
  await until(async () => (await order.made('refunds')).length === 2);
  await until(async () => (await order.row()).refundProcessedAt !== null);
  // The callback about the first one, once more.
  await service.deps.workflows.startSurplusRefund(atRazorpay(await order.paymentId()));
  await refundWorkflow(service, await order.paymentId()).result();
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
});

test('a reported refund is looked at once more, because the list may have been older than the report', async ({
  service,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const payment = atRazorpay(await order.paymentId());
  const [refund] = await order.made('refunds');
  await withoutCallbacks(service);
  const reports = { type: 'refund', ...payment, by: 'this service' } as const;
  const callback = { eventId: `evt_${refund!.id}`, event: 'refund.failed', body: '{}', reports };
  await writeCallback(service.sql, { ...SANDBOX, ...callback });
  await refundSurplus(service.deps, payment);
  await failRefund(service, refund!.id);
  await service.clock.advance(6 * MINUTE_MS);
  await reconcile(service);
  await until(async () => (await order.made('refunds')).length === 2);
  const unconfirmed = () => service.sql`SELECT FROM gateway_callbacks
    WHERE is_unconfirmed AND gateway_payment_id = ${payment.gatewayPaymentId}`;
  await until(async () => (await unconfirmed()).length === 0);
});

/** A surplus payment whose refund is processed: the order was cancelled before it arrived. */
async function aRefundedSurplus(service: TestService, merchant: Merchant) {
  const { order, pay } = await orderBeingPaid(service, merchant);
  expect((await merchant.sandbox.cancel(order)).status).toBe(200);
  const paymentId = await pay({ late: true });
  const processed = async () => (await merchant.sandbox.read(order)).refund?.processed_at ?? null;
  await until(async () => (await processed()) !== null);
  return { order, paymentId, processed };
}

test('reconciliation makes a failed refund again whose workflow was lost, once', async ({
  service,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const paymentId = await order.paymentId();
  await loseFailedRefund(service, paymentId);
  await service.clock.advance(6 * MINUTE_MS);
  await Promise.all([reconcile(service), reconcile(service)]);
  await until(async () => (await order.row()).refundProcessedAt !== null);
  await service.clock.advance(6 * MINUTE_MS);
  await reconcile(service);
  await refundWorkflow(service, paymentId).result();
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
  expect(await order.made('refunds')).toHaveLength(2);
});

test('reconciliation makes a failed refund of a surplus payment again whose workflow was lost, also after eight days', async ({
  service,
  merchant,
}) => {
  const { order, paymentId, processed } = await aRefundedSurplus(service, merchant);
  await loseFailedRefund(service, paymentId);
  // By then its session is not checked any more.
  await service.sql`UPDATE payment_sessions SET next_check_at = NULL`;
  await service.clock.advance(8 * 24 * 60 * MINUTE_MS);
  await reconcile(service);
  await until(async () => (await processed()) !== null);
  expect((await ledgerOf(service, order.order_number)).balances['surplus']).toBeUndefined();
  expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(2);
});

test('the daily comparison finds a failed refund whose callback was lost', async ({
  service,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const [refund] = await order.made('refunds');
  await withoutCallbacks(service);
  await failRefund(service, refund!.id);
  await alertOnDifferences(service.deps);
  await until(async () => (await order.made('refunds')).length === 2);
  await until(async () => (await order.row()).refundProcessedAt !== null);
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
});

test('an operator settles a refund that fails again and again', async ({ service, orders }) => {
  const order = await orders.in('REFUNDED');
  const [first] = await order.made('refunds');
  await setSwitches(service, await order.paymentId(), { refundsRefused: true });
  await failRefund(service, first!.id);
  await until(async () => (await order.row()).refundProcessedAt === null);
  const settlement = {
    orderNumber: order.orderNumber,
    reference: 'UTR1',
    reason: 'Closed account',
  };
  const deps = { ...service.deps, actor: TEST_ACTOR };
  await whenMoneyIsFree(service.sql, () => settleOutside(deps, settlement));
  expect((await order.row()).refundProcessedAt).not.toBeNull();
  // The next attempt finds it settled, although the gateway still has only a refund that has failed.
  const payment = atRazorpay(await order.paymentId());
  await whenMoneyIsFree(service.sql, () => refundSurplus(service.deps, payment));
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
  expect((await order.made('refunds')).map(({ status }) => status)).toEqual(['failed']);
  // Nothing at the gateway is the refund that the operator has made.
  const [line] = await service.sql<[{ movementId: string | null }]>`
    SELECT movement_id FROM ledger_transfers
    WHERE order_number = ${order.orderNumber} AND refund_try = 1 AND operation = 'refund'`;
  expect(line.movementId).toBeNull();
});

test('the refund of a surplus payment that fails is booked back and made again', async ({
  service,
  merchant,
}) => {
  const { order, paymentId, processed } = await aRefundedSurplus(service, merchant);
  const [first] = await madeAtGateway(service, paymentId, 'refunds');
  await setSwitches(service, 'all', { refundsStartPending: true });
  await failRefund(service, first!.id);
  await until(async () => (await madeAtGateway(service, paymentId, 'refunds')).length === 2);
  expect(await processed()).toBeNull();
  const [second] = await madeAtGateway(service, paymentId, 'refunds');
  await simulator(service, 'POST', `/refunds/${second!.id}/end`, { status: 'processed' });
  await until(async () => (await processed()) !== null);
  expect((await ledgerOf(service, order.order_number)).lines.slice(1)).toEqual([
    `refund: surplus → refunds ${AMOUNT_PAISE}`,
    `refund_failed: refunds → surplus ${AMOUNT_PAISE}`,
    `refund: surplus → refunds ${AMOUNT_PAISE}`,
  ]);
});

test('a refund of an order that fails after a chargeback was lost is not made again, and costs the platform nothing', async ({
  service,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const paymentId = await order.paymentId();
  const end = await openChargeback(service, paymentId);
  await end('lost');
  const [refund] = await order.made('refunds');
  await failRefund(service, refund!.id);
  const lines = [
    `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
    `loss: platform_losses → refunds ${AMOUNT_PAISE}`,
    `refund_failed: refunds → merchant_held ${AMOUNT_PAISE}`,
    `recovered: merchant_held → platform_losses ${AMOUNT_PAISE}`,
  ];
  await until(async () => (await order.ledgerLines()).length === 1 + lines.length);
  await until(async () => (await order.row()).refundProcessedAt !== null);
  // A repeated callback, and the daily comparison.
  await whenMoneyIsFree(service.sql, () => refundSurplus(service.deps, atRazorpay(paymentId)));
  await alertOnDifferences(service.deps);
  expect((await order.ledgerLines()).slice(1)).toEqual(lines);
  expect(await order.made('refunds')).toHaveLength(1);
});

test('a surplus refund that fails after a chargeback was lost is not made again', async ({
  service,
  merchant,
}) => {
  const { order, paymentId, processed } = await aRefundedSurplus(service, merchant);
  const end = await openChargeback(service, paymentId);
  await end('lost');
  const [refund] = await madeAtGateway(service, paymentId, 'refunds');
  await failRefund(service, refund!.id);
  const lines = async () => (await ledgerOf(service, order.order_number)).lines.slice(1);
  await until(async () => (await lines()).length === 4);
  await until(async () => (await processed()) !== null);
  await untilNoAlert(service, paymentId);
  expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  expect(await lines()).toEqual([
    `refund: surplus → refunds ${AMOUNT_PAISE}`,
    `loss: platform_losses → refunds ${AMOUNT_PAISE}`,
    `refund_failed: refunds → surplus ${AMOUNT_PAISE}`,
    `recovered: surplus → platform_losses ${AMOUNT_PAISE}`,
  ]);
});

test('each refund of a payment that fails is booked back, however often a chargeback was lost before it', async ({
  service: { sql },
  merchant,
  orders,
}) => {
  const order = await orders.in('REFUNDED');
  const payment = atRazorpay(await order.paymentId());
  const lose = (reversalId: string) =>
    writeReversal(
      sql,
      { gateway: 'razorpay', environment: 'sandbox' },
      { reversalId, ...payment, kind: 'chargeback', amountPaise: 1000, state: 'lost' },
      'gateway',
    );
  await lose(`disp_1${randomUUID()}`);
  await bookRefundFailed(sql, payment);
  for (const n of [2, 3]) {
    // The bank processes the refund after another chargeback was lost, and rejects it then.
    const amountPaise = AMOUNT_PAISE - (n - 1) * 1000;
    await lose(`disp_${n}${randomUUID()}`);
    await bookMovement(sql, payment, 'refund', { movementId: `rfnd_${randomUUID()}`, amountPaise });
    await finishRefundAgain(sql, order.orderNumber);
    expect((await order.ledgerLines()).slice(-2)).toEqual([
      'covered: platform_losses → merchant_held 1000',
      `refund: merchant_held → refunds ${amountPaise}`,
    ]);
    await bookRefundFailed(sql, payment);
    expect((await order.ledgerLines()).slice(-2)).toEqual([
      `refund_failed: refunds → merchant_held ${amountPaise}`,
      'recovered: merchant_held → platform_losses 1000',
    ]);
  }
  const { entries } = await merchant.sandbox.timeline({ order_number: order.orderNumber });
  expect(
    entries.map(({ kind }) => kind).filter((kind) => /^REFUND(ED|_FAILED)/.test(kind)),
  ).toEqual([
    'REFUND_FAILED',
    'REFUNDED_AGAIN',
    'REFUND_FAILED',
    'REFUNDED_AGAIN',
    'REFUND_FAILED',
  ]);
});

test('the database has at most one live way out of a payment', async ({ service, orders }) => {
  const order = await orders.in('REFUNDED');
  const insert = (operation: string, refundTry: number) => service.sql`
    INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
      environment, debit_account, credit_account, amount_paise, refund_try)
    SELECT gateway, gateway_payment_id, ${operation}, order_number, merchant_id, environment,
      'merchant_held', ${operation === 'release' ? 'merchant_available' : 'refunds'}, amount_paise, ${refundTry}
    FROM orders WHERE order_number = ${order.orderNumber}`;
  await expect(insert('refund', 0)).rejects.toThrow(/duplicate key/);
  await expect(insert('release', 0)).rejects.toThrow(/duplicate key/);
  await expect(insert('refund', 1)).rejects.toThrow(/does not follow/);
  await expect(insert('refund_failed', 1)).rejects.toThrow(/does not follow/);
  await expect(insert('release', 1)).rejects.toThrow(/does not follow/);
});
