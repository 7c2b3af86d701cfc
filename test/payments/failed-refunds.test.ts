import { expect } from 'vitest';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { alertOnDifferences } from '../../src/payments/reconcile/compare-gateway.ts';
import { refundSurplus } from '../../src/payments/funds/refunds.ts';
import { settleOutside } from '../../src/payments/settlement/settle-outside.ts';
import { refundWorkflowId } from '../../src/contracts/ids.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import {
  atRazorpay,
  ledgerOf,
  madeAtGateway,
  orderBeingPaid,
  setSwitches,
  simulator,
  withCallbacks,
  withoutCallbacks,
} from '../support/gateway.ts';
import { cancelWithRetries } from '../support/orders.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { whenMoneyIsFree } from '../support/when-money-is-free.ts';

const AMOUNT_PAISE = 49_950;
const BOOKED_BACK = [
  `refund: merchant_held → refunds ${AMOUNT_PAISE}`,
  `refund_failed: refunds → merchant_held ${AMOUNT_PAISE}`,
];
const BOOKED_AGAIN = [...BOOKED_BACK, `refund: merchant_held → refunds ${AMOUNT_PAISE}`];

const test = serviceTest({ time: 'real' });

test.afterEach(async ({ service }) => {
  await withCallbacks(service);
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

const untilRefundEnds = ({ temporal }: TestService, gatewayPaymentId: string) =>
  temporal.client.workflow.getHandle(refundWorkflowId(atRazorpay(gatewayPaymentId))).result();

/** The bank returns a refund, after the gateway has reported it as processed. */
async function failRefund(service: TestService, refundId: string) {
  await simulator(service, 'POST', `/refunds/${refundId}/end`, { status: 'failed' });
  await simulator(service, 'POST', '/callbacks/idle');
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
  await until(async () => (await openAlerts(service, await order.paymentId())).length === 0);
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
  await service.deps.workflows.refundSurplus(atRazorpay(await order.paymentId()));
  await untilRefundEnds(service, await order.paymentId());
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
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
  await whenMoneyIsFree(() => settleOutside(deps, settlement));
  expect((await order.row()).refundProcessedAt).not.toBeNull();
  // The next attempt finds it settled, although the gateway still has only a refund that has failed.
  await refundSurplus(service.deps, atRazorpay(await order.paymentId()));
  expect((await order.ledgerLines()).slice(1)).toEqual(BOOKED_AGAIN);
  expect((await order.made('refunds')).map(({ status }) => status)).toEqual(['failed']);
});

test('the refund of a surplus payment that fails is booked back and made again', async ({
  service,
  merchant,
}) => {
  const { order, pay } = await orderBeingPaid(service, merchant);
  await cancelWithRetries(merchant.sandbox, order);
  const paymentId = await pay({ late: true });
  const processed = async () => (await merchant.sandbox.read(order)).refund?.processed_at ?? null;
  await until(async () => (await processed()) !== null);
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
