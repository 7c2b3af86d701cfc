import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Timeline } from '../../src/orders/timeline.ts';
import {
  alerts,
  breakGateway,
  ledgerOf,
  madeAtGateway,
  payAtGateway,
  sessionOf,
  simulator,
  withCallbacks,
} from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Merchant = Awaited<ReturnType<TestService['newMerchant']>>;
interface Named {
  order_number: string;
}
const AMOUNT_PAISE = 49_950;
const REFUND = '/v1/payments/*/refund';

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Merchant;
let deaf: Merchant;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant();
  deaf = await service.newMerchant();
  deaf.receiver.answerWith(() => 500);
});
afterEach(async () => {
  await simulator(service, 'DELETE', '/faults');
  await withCallbacks(service);
  const behaviour = { refundsStartPending: false, honourIdempotencyKeys: true };
  await simulator(service, 'PATCH', '/behaviour', behaviour);
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const read = async ({ order_number }: Named, by = merchant) =>
  (await by.sandbox.get(`/orders/${order_number}`)).body.data;
const timeline = async ({ order_number }: Named, by = merchant) =>
  (await by.sandbox.get<Timeline>(`/orders/${order_number}/timeline`)).body.data;
const events = async ({ order_number }: Named) =>
  (
    await service.sql<{ type: string }[]>`
      SELECT type FROM order_events WHERE order_number = ${order_number} ORDER BY sequence`
  ).map(({ type }) => type);
const workflowOf = (id: string) => service.temporal.client.workflow.getHandle(id);

/** An order whose buyer has a QR code that still takes money: `late` once it is closed. */
async function anOrderWithASession(by = merchant) {
  const order = await by.sandbox.create();
  await by.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
  const { gateway_session_id } = await sessionOf(service, order);
  const payLate = () => payAtGateway(service, gateway_session_id, { late: true });
  return { order, payLate, pay: () => payAtGateway(service, gateway_session_id) };
}

async function aCancelledOrder(by = merchant) {
  const made = await anOrderWithASession(by);
  await by.sandbox.post(`/orders/${made.order.order_number}/cancel`);
  return made;
}

async function aPaidOrder(by = merchant) {
  const made = await anOrderWithASession(by);
  const firstPaymentId = await made.pay();
  await until(async () => (await read(made.order, by)).status === 'PAID');
  return { ...made, firstPaymentId };
}

/** The capture is given back by a workflow of its own, once, in full. */
async function assertRefundedOnce(paymentId: string, order: Named): Promise<void> {
  await until(() =>
    workflowOf(`refund-${paymentId}`)
      .describe()
      .then(
        ({ status }) => status.name === 'COMPLETED',
        () => false,
      ),
  );
  expect(await madeAtGateway(service, paymentId, 'refunds')).toMatchObject([
    { amount: AMOUNT_PAISE, status: 'processed' },
  ]);
  expect(alerts(service, 'surplus_capture', paymentId)).toHaveLength(1);
  expect(alerts(service, 'surplus_capture', order.order_number)).not.toEqual([]);
  expect(await events(order)).not.toContain('REFUND_PROCESSED');
}

const SURPLUS_LINES = [
  `capture: gateway_clearing → surplus ${AMOUNT_PAISE}`,
  `refund: surplus → refunds ${AMOUNT_PAISE}`,
];

describe('a capture on a CANCELLED order is refunded, and the order stays CANCELLED', () => {
  test.each([
    ["while the order's webhooks still wait for a dead endpoint", () => deaf],
    ["after the order's workflow is over", () => merchant],
  ])('%s', async (_when, by) => {
    const { order, payLate } = await aCancelledOrder(by());
    if (by() === merchant) await workflowOf(order.order_number).result();
    const paymentId = await payLate();
    await assertRefundedOnce(paymentId, order);
    const after = await read(order, by());
    expect(after).toMatchObject({
      status: 'CANCELLED',
      refund: { amount: 499.5, reason: 'late_payment', processed_at: expect.any(String) },
    });
    const { entries } = await timeline(order, by());
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

  test('and until the bank has it, `refund.processed_at` is null', async () => {
    const { order, payLate } = await aCancelledOrder();
    await simulator(service, 'PATCH', '/behaviour', { refundsStartPending: true });
    const paymentId = await payLate();
    await until(async () => (await madeAtGateway(service, paymentId, 'refunds')).length === 1);
    expect((await read(order)).refund).toEqual({
      amount: 499.5,
      reason: 'late_payment',
      processed_at: null,
    });
    await simulator(service, 'PATCH', '/behaviour', { refundsStartPending: false });
    const [refund] = await madeAtGateway(service, paymentId, 'refunds');
    await simulator(service, 'POST', `/refunds/${refund?.id}/settle`, { status: 'processed' });
    await until(async () => (await read(order)).refund?.processed_at !== null);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  });

  test('however often it is heard of, and by whatever way', async () => {
    const { order, payLate } = await aCancelledOrder();
    await simulator(service, 'PATCH', '/callbacks', { duplicateProbability: 1 });
    const paymentId = await payLate();
    await Promise.all(
      Array.from({ length: 10 }, () => service.deps.workflows.refundSurplus(paymentId)),
    );
    await simulator(service, 'POST', '/callbacks/settled');
    await assertRefundedOnce(paymentId, order);
    await service.deps.workflows.refundSurplus(paymentId);
    await workflowOf(`refund-${paymentId}`).result();
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
    expect((await ledgerOf(service, order.order_number)).lines).toEqual(SURPLUS_LINES);
  });

  test('once the gateway is back, if it was away', async () => {
    const { order, payLate } = await aCancelledOrder();
    const { mend, hits } = await breakGateway(service, { kind: 'error', path: REFUND });
    const paymentId = await payLate();
    await until(async () => (await hits()) >= 2);
    expect((await read(order)).refund?.processed_at).toBeNull();
    await mend();
    await until(async () => (await read(order)).refund?.processed_at !== null);
    expect(await madeAtGateway(service, paymentId, 'refunds')).toHaveLength(1);
  });
});

describe('a second capture on an order that is paid already is refunded, and the order stays as it is', () => {
  const help = (order: Named, helper: string, body?: unknown) =>
    merchant.sandbox.help(order, helper, body);
  const deliver = ({ order_number }: Named) =>
    merchant.sandbox.post(`/orders/${order_number}/deliver`);
  const dispute = (order: Named) => help(order, 'dispute', { reason: 'It never arrived at all' });
  const WAYS: [string, (order: Named) => Promise<unknown>][] = [
    ['PAID', async () => undefined],
    ['DELIVERED', deliver],
    ['DISPUTE_OPEN', dispute],
    [
      'COMPLETED',
      async (order) => {
        await deliver(order);
        await help(order, 'advance', { seconds: 24 * 3600 });
        await workflowOf(order.order_number).result();
      },
    ],
    [
      'REFUNDED',
      async (order) => {
        await dispute(order);
        await merchant.sandbox.post(`/orders/${order.order_number}/dispute/accept`);
        await workflowOf(order.order_number).result();
      },
    ],
  ];

  test.each(WAYS)('%s', async (status, lead) => {
    const { order, payLate, firstPaymentId } = await aPaidOrder();
    await lead(order);
    const before = await read(order);
    expect(before.status).toBe(status);
    const ledgerBefore = await ledgerOf(service, order.order_number);
    const eventsBefore = await events(order);
    const secondPaymentId = await payLate();
    await assertRefundedSecond(secondPaymentId, firstPaymentId, status);
    expect(await read(order)).toEqual(before);
    const { entries } = await timeline(order);
    expect(entries.slice(-2)).toMatchObject([
      { kind: 'SURPLUS_REFUND_STARTED', status, details: { reason: 'already_paid' } },
      { kind: 'SURPLUS_REFUNDED', status, details: { amount: 499.5 } },
    ]);
    const { lines, sum } = await ledgerOf(service, order.order_number);
    expect(lines).toEqual([...ledgerBefore.lines, ...SURPLUS_LINES]);
    expect(sum).toBe(0);
    expect(await events(order)).toEqual(eventsBefore);
  });

  async function assertRefundedSecond(paymentId: string, firstPaymentId: string, status: string) {
    await until(() => alerts(service, 'surplus_capture', paymentId).length === 1);
    await workflowOf(`refund-${paymentId}`).result();
    expect(await madeAtGateway(service, paymentId, 'refunds')).toMatchObject([
      { amount: AMOUNT_PAISE, status: 'processed' },
    ]);
    const firstRefunds = await madeAtGateway(service, firstPaymentId, 'refunds');
    expect(firstRefunds).toHaveLength(status === 'REFUNDED' ? 1 : 0);
  }
});
