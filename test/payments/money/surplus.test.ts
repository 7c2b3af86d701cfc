import { describe, expect } from 'vitest';
import type { OrderRef } from '../../support/api-client.ts';
import {
  alerts,
  atRazorpay,
  ledgerOf,
  madeAtGateway,
  openChargeback,
  orderBeingPaid,
  simulator,
  withCallbacks,
  setSwitches,
} from '../../support/gateway.ts';
import type { Merchant } from '../../support/merchant.ts';
import { serviceTest } from '../../support/service-test.ts';
import type { TestService } from '../../support/service.ts';
import { until } from '../../support/until.ts';
import { aRefusingMerchant } from '../../webhooks/deliveries.ts';

const AMOUNT_PAISE = 49_950;
const REFUND = '/v1/payments/*/refund';

// With webhooks that fail, an order in a final status still waits for their retries.
const test = serviceTest({ time: 'real' }).extend('deaf', { scope: 'file' }, ({ service }) =>
  aRefusingMerchant(service),
);

test.afterEach(async ({ service }) => {
  await withCallbacks(service);
  const switches = { refundsStartPending: false, honourIdempotencyKeys: true };
  await setSwitches(service, 'all', switches);
});

const events = async (service: TestService, { order_number }: OrderRef) =>
  (
    await service.sql<{ type: string }[]>`
      SELECT type FROM order_events WHERE order_number = ${order_number} ORDER BY sequence`
  ).map(({ type }) => type);
const workflowOf = (service: TestService, id: string) =>
  service.temporal.client.workflow.getHandle(id);

/** An order whose buyer has a QR code that can still be paid: `late` once it is closed. */
async function anOrderWithASession(service: TestService, merchant: Merchant) {
  const { order, pay } = await orderBeingPaid(service, merchant);
  return { order, pay, payLate: () => pay({ late: true }) };
}

async function aCancelledOrder(service: TestService, merchant: Merchant) {
  const made = await anOrderWithASession(service, merchant);
  // The hand-over of a refused webhook may come as the cancel ends the workflow: then the answer is 500.
  expect((await merchant.sandbox.cancel(made.order)).status).toBe(200);
  return made;
}

async function aPaidOrder(service: TestService, merchant: Merchant) {
  const made = await anOrderWithASession(service, merchant);
  const firstPaymentId = await made.pay();
  await until(async () => (await merchant.sandbox.read(made.order)).status === 'PAID');
  return { ...made, firstPaymentId };
}

/** Checks that a surplus capture was alerted of once; an attempt that is made again does it again. */
async function assertAlertedOnce(service: TestService, paymentId: string): Promise<void> {
  const { events: history } = await workflowOf(
    service,
    `refund-razorpay-${paymentId}`,
  ).fetchHistory();
  const attempts = (history ?? []).map(
    ({ activityTaskStartedEventAttributes: started }) => started?.attempt ?? 0,
  );
  const count = alerts(service, 'surplus_capture', paymentId).length;
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(Math.max(...attempts));
}

/** Checks that a separate workflow refunds the capture once, in full. */
async function assertRefundedOnce(
  service: TestService,
  paymentId: string,
  order: OrderRef,
): Promise<void> {
  await until(() =>
    workflowOf(service, `refund-razorpay-${paymentId}`)
      .describe()
      .then(
        ({ status }) => status.name === 'COMPLETED',
        () => false,
      ),
  );
  expect(await madeAtGateway(service, paymentId, 'refunds')).toMatchObject([
    { amount: AMOUNT_PAISE, status: 'processed' },
  ]);
  await assertAlertedOnce(service, paymentId);
  expect(alerts(service, 'surplus_capture', order.order_number)).not.toEqual([]);
  expect(await events(service, order)).not.toContain('REFUND_PROCESSED');
}

const SURPLUS_LINES = [
  `capture: gateway_clearing → surplus ${AMOUNT_PAISE}`,
  `refund: surplus → refunds ${AMOUNT_PAISE}`,
];
const COVERED_LINES = SURPLUS_LINES.toSpliced(
  1,
  0,
  `reversal: surplus → refunds ${AMOUNT_PAISE}`,
  `covered: platform_losses → surplus ${AMOUNT_PAISE}`,
);

describe('a capture on a CANCELLED order is refunded, and the order stays CANCELLED', () => {
  test.for([
    ["while the order's webhooks still wait for a dead endpoint", true],
    ["after the order's workflow is over", false],
  ] as const)('%s', async ([_when, isDeaf], { service, merchant, deaf }) => {
    const by = isDeaf ? deaf : merchant;
    const { order, payLate } = await aCancelledOrder(service, by);
    if (!isDeaf) await workflowOf(service, order.order_number).result();
    const paymentId = await payLate();
    await assertRefundedOnce(service, paymentId, order);
    const after = await by.sandbox.read(order);
    expect(after).toMatchObject({
      status: 'CANCELLED',
      refund: { amount: 499.5, reason: 'late_payment', processed_at: expect.any(String) },
    });
    const { entries } = await by.sandbox.timeline(order);
    expect(entries.slice(-3)).toMatchObject([
      { kind: 'ORDER_CANCELLED' },
      {
        kind: 'SURPLUS_REFUND_STARTED',
        status: 'CANCELLED',
        details: { amount: 499.5, reason: 'late_payment' },
        webhook: null,
      },
      { kind: 'SURPLUS_REFUNDED', status: 'CANCELLED', at: after.refund?.processed_at },
    ]);
    expect(await ledgerOf(service, order.order_number)).toMatchObject({
      lines: SURPLUS_LINES,
      balances: { gateway_clearing: -AMOUNT_PAISE, refunds: AMOUNT_PAISE },
      sum: 0,
    });
  });

  test.for([
    ['until the bank has processed it', SURPLUS_LINES],
    ['also while a chargeback is lost, which the platform then pays', COVERED_LINES],
  ] as const)('with `refund.processed_at` null, %s', async ([, lines], { service, merchant }) => {
    await simulator(service, 'POST', '/balance', { amountPaise: 2 * AMOUNT_PAISE });
    const { order, payLate } = await aCancelledOrder(service, merchant);
    await setSwitches(service, 'all', { refundsStartPending: true });
    const paymentId = await payLate();
    await until(async () => (await madeAtGateway(service, paymentId, 'refunds')).length === 1);
    expect((await merchant.sandbox.read(order)).refund).toEqual({
      amount: 499.5,
      reason: 'late_payment',
      processed_at: null,
    });
    await setSwitches(service, 'all', { refundsStartPending: false });
    const [refund] = await madeAtGateway(service, paymentId, 'refunds');
    if (lines === COVERED_LINES) await (await openChargeback(service, paymentId))('lost');
    await simulator(service, 'POST', `/refunds/${refund?.id}/end`, { status: 'processed' });
    await until(async () => (await merchant.sandbox.read(order)).refund?.processed_at !== null);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
    expect((await ledgerOf(service, order.order_number)).lines).toEqual(lines);
  });

  test('once, however often and in whatever way it is reported', async ({ service, merchant }) => {
    const { order, payLate } = await aCancelledOrder(service, merchant);
    await simulator(service, 'PATCH', '/callbacks', { duplicateProbability: 1 });
    const paymentId = await payLate();
    await Promise.all(
      Array.from({ length: 10 }, () =>
        service.deps.workflows.startSurplusRefund(atRazorpay(paymentId)),
      ),
    );
    await simulator(service, 'POST', '/callbacks/idle');
    await assertRefundedOnce(service, paymentId, order);
    await service.deps.workflows.startSurplusRefund(atRazorpay(paymentId));
    await workflowOf(service, `refund-razorpay-${paymentId}`).result();
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
    expect((await ledgerOf(service, order.order_number)).lines).toEqual(SURPLUS_LINES);
  });

  test('when the gateway is available again, if it was not', async ({
    service,
    merchant,
    gateway,
  }) => {
    const { order, payLate } = await aCancelledOrder(service, merchant);
    const { endFault, hits } = await gateway.addFault({ kind: 'error', path: REFUND });
    const paymentId = await payLate();
    await until(async () => (await hits()) >= 2);
    expect((await merchant.sandbox.read(order)).refund?.processed_at).toBeNull();
    await endFault();
    await until(async () => (await merchant.sandbox.read(order)).refund?.processed_at !== null);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  });
});

describe('a second capture on an order that is already paid is refunded, and the order does not change', () => {
  type Parts = { service: TestService; merchant: Merchant };
  const help = (merchant: Merchant, order: OrderRef, helper: string, body?: unknown) =>
    merchant.sandbox.help(order, helper, body);
  const deliver = (merchant: Merchant, { order_number }: OrderRef) =>
    merchant.sandbox.post(`/orders/${order_number}/deliver`);
  const dispute = (merchant: Merchant, order: OrderRef) =>
    help(merchant, order, 'dispute', { reason: 'It never arrived at all' });
  const WAYS: [string, (order: OrderRef, parts: Parts) => Promise<unknown>][] = [
    ['PAID', async () => undefined],
    ['DELIVERED', (order, { merchant }) => deliver(merchant, order)],
    ['DISPUTE_OPEN', (order, { merchant }) => dispute(merchant, order)],
    [
      'COMPLETED',
      async (order, { service, merchant }) => {
        await deliver(merchant, order);
        await help(merchant, order, 'advance', { seconds: 24 * 3600 });
        await workflowOf(service, order.order_number).result();
      },
    ],
    [
      'REFUNDED',
      async (order, { service, merchant }) => {
        await dispute(merchant, order);
        await merchant.sandbox.post(`/orders/${order.order_number}/dispute/accept`);
        await workflowOf(service, order.order_number).result();
      },
    ],
  ];

  test.for(WAYS)('%s', async ([status, lead], { service, merchant }) => {
    const { order, payLate, firstPaymentId } = await aPaidOrder(service, merchant);
    await lead(order, { service, merchant });
    const before = await merchant.sandbox.read(order);
    expect(before.status).toBe(status);
    const ledgerBefore = await ledgerOf(service, order.order_number);
    const eventsBefore = await events(service, order);
    const secondPaymentId = await payLate();
    await assertRefundedSecond(service, secondPaymentId, firstPaymentId, status);
    expect(await merchant.sandbox.read(order)).toEqual(before);
    const { entries } = await merchant.sandbox.timeline(order);
    expect(entries.slice(-2)).toMatchObject([
      { kind: 'SURPLUS_REFUND_STARTED', status, details: { reason: 'already_paid' } },
      { kind: 'SURPLUS_REFUNDED', status, details: { amount: 499.5 } },
    ]);
    const { lines, sum } = await ledgerOf(service, order.order_number);
    expect(lines).toEqual([...ledgerBefore.lines, ...SURPLUS_LINES]);
    expect(sum).toBe(0);
    expect(await events(service, order)).toEqual(eventsBefore);
  });

  async function assertRefundedSecond(
    service: TestService,
    paymentId: string,
    firstPaymentId: string,
    status: string,
  ) {
    await until(() => alerts(service, 'surplus_capture', paymentId).length > 0);
    await workflowOf(service, `refund-razorpay-${paymentId}`).result();
    await assertAlertedOnce(service, paymentId);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toMatchObject([
      { amount: AMOUNT_PAISE, status: 'processed' },
    ]);
    const firstRefunds = await madeAtGateway(service, firstPaymentId, 'refunds');
    expect(firstRefunds).toHaveLength(status === 'REFUNDED' ? 1 : 0);
  }
});
