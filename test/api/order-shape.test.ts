import { describe, expect } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/steps/timeline-presenter.ts';
import { askGateway, sessionOf, simulator } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { serviceTest } from '../support/service-test.ts';

const DAY_SECONDS = 24 * 3600;
const FIELDS = [
  'order_number',
  'merchant_order_id',
  'amount',
  'currency',
  'status',
  'dispute_count',
  'buyer',
  'description',
  'payment_url',
  'payment_link_expires_at',
  'completes_at',
  'dispute',
  'refund',
  'payment',
  'cancellation',
  'created_at',
  'updated_at',
];
const DISPUTE_FIELDS = [
  'reason',
  'raised_at',
  'respond_by',
  'evidence',
  'resolution',
  'decision',
  'ended_at',
];
const aTime = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const test = serviceTest({ time: 'real' });

const create = (merchant: Merchant) =>
  merchant.sandbox.create({ merchantOrderId: 'shop-1', buyerName: 'Asha Rao' });
const post = async (merchant: Merchant, { order_number }: Order, path: string, body?: unknown) =>
  (await merchant.sandbox.post(`/orders/${order_number}/${path}`, body)).body.data;
const help = async (merchant: Merchant, order: Order, helper: string, body?: unknown) =>
  (await merchant.sandbox.help(order, helper, body)).body.data;

async function webhookData(merchant: Merchant, { order_number: orderNumber }: Order, type: string) {
  const [webhook] = await merchant.receiver.until(
    1,
    ({ event, body }) => event === type && body.data['order_number'] === orderNumber,
  );
  return webhook!.body.data;
}

async function entryOf(merchant: Merchant, { order_number }: Order, kind: string) {
  const { body } = await merchant.sandbox.get<Timeline>(`/orders/${order_number}/timeline`);
  return body.data.entries.find((entry) => entry.kind === kind);
}

const DISPUTE = { reason: 'It never arrived at my door' };

describe('one shape of the order', () => {
  test('every response and event lists the same fields in the same order', async ({ merchant }) => {
    const order = await create(merchant);
    const { order_number: number } = order;
    const { body: list } = await merchant.sandbox.get<{ content: Order[] }>('/orders?size=1');
    const answers = [
      order,
      list.data.content[0]!,
      await help(merchant, order, 'fail-payment'),
      await help(merchant, order, 'pay'),
      await post(merchant, order, 'deliver'),
      await help(merchant, order, 'dispute', DISPUTE),
      await post(merchant, order, 'dispute/evidence', { text: 'Signed for' }),
      await post(merchant, order, 'dispute/resolve', { resolution: 'A new one is on its way' }),
      await help(merchant, order, 'advance', { seconds: 60 }),
      await merchant.sandbox.read(order),
    ];
    for (const answer of answers) {
      expect([answer.order_number, Object.keys(answer)]).toEqual([number, FIELDS]);
      expect(Object.keys(answer.buyer)).toEqual(['email', 'name', 'phone']);
    }
    expect(Object.keys(answers.at(-1)!.dispute!)).toEqual(DISPUTE_FIELDS);
    for (const type of ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DISPUTE_RESOLVED']) {
      expect(Object.keys(await webhookData(merchant, order, type))).toEqual(FIELDS);
    }
    expect(Object.keys(await webhookData(merchant, order, 'PAYMENT_FAILED'))).toEqual([
      ...FIELDS,
      'payment_failure',
    ]);
  });
});

describe('the payment', () => {
  test('PAYMENT_SUCCESS carries the id and UTR of the gateway', async ({ service, merchant }) => {
    const order = await create(merchant);
    expect(order.payment).toBeNull();
    const paid = await help(merchant, order, 'pay');
    const id = paid.payment!.gateway_payment_id;
    const { acquirer_data } = await askGateway<{ acquirer_data: { rrn: string } }>(
      service,
      'GET',
      `/v1/payments/${id}`,
    );
    const payment = {
      gateway_payment_id: id,
      utr: acquirer_data.rrn,
      paid_at: aTime,
      reversed_amount: 0,
    };
    expect(paid.payment).toEqual(payment);
    expect((await webhookData(merchant, order, 'PAYMENT_SUCCESS'))['payment']).toEqual(
      paid.payment,
    );
    expect((await entryOf(merchant, order, 'PAYMENT_SUCCESS'))?.details).toEqual({
      gateway_payment_id: id,
      utr: acquirer_data.rrn,
    });
  });

  test('PAYMENT_FAILED has the gateway’s reason', async ({ service, merchant }) => {
    const order = await create(merchant);
    await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    const { gatewaySessionId: id } = await sessionOf(service, order);
    await simulator(service, 'POST', `/qr_codes/${id}/fail`);
    const reason = 'Payment was unsuccessful as the transaction was declined in the UPI app.';
    expect((await webhookData(merchant, order, 'PAYMENT_FAILED'))['payment_failure']).toEqual({
      reason,
    });
    expect((await entryOf(merchant, order, 'PAYMENT_FAILED'))?.details).toEqual({ reason });
  });
});

describe('the cancellation', () => {
  test('names the merchant and the reason', async ({ merchant }) => {
    const order = await create(merchant);
    expect(order.cancellation).toBeNull();
    const cancelled = await post(merchant, order, 'cancel', { reason: 'Sold out' });
    const cancellation = { by: 'merchant', reason: 'Sold out', cancelled_at: aTime };
    expect(cancelled.cancellation).toEqual(cancellation);
    expect((await webhookData(merchant, order, 'ORDER_CANCELLED'))['cancellation']).toEqual(
      cancellation,
    );
    expect((await entryOf(merchant, order, 'ORDER_CANCELLED'))?.details).toEqual({
      by: 'merchant',
      reason: 'Sold out',
    });
  });

  test('names the merchant also if a payment session had to be closed first', async ({
    merchant,
  }) => {
    const order = await create(merchant);
    await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    const { cancellation } = await post(merchant, order, 'cancel', { reason: 'Sold out' });
    expect(cancellation).toEqual({ by: 'merchant', reason: 'Sold out', cancelled_at: aTime });
  });

  test('names the expiry of the payment link', async ({ merchant }) => {
    const order = await create(merchant);
    await help(merchant, order, 'advance', { seconds: DAY_SECONDS });
    const cancellation = { by: 'expiry', reason: null, cancelled_at: aTime };
    expect((await webhookData(merchant, order, 'ORDER_CANCELLED'))['cancellation']).toEqual(
      cancellation,
    );
    expect((await entryOf(merchant, order, 'ORDER_CANCELLED'))?.details).toEqual({ by: 'expiry' });
  });
});

describe('a dispute can be read after it has ended', () => {
  async function disputed(merchant: Merchant): Promise<Order> {
    const order = await create(merchant);
    await help(merchant, order, 'pay');
    return help(merchant, order, 'dispute', DISPUTE);
  }
  const ended = {
    ...DISPUTE,
    raised_at: aTime,
    respond_by: null,
    evidence: null,
    resolution: null,
    decision: null,
    ended_at: aTime,
  };

  test('has a deadline and no end while it runs', async ({ merchant }) => {
    expect((await disputed(merchant)).dispute).toEqual({
      ...ended,
      respond_by: aTime,
      ended_at: null,
    });
  });

  test('has its resolution after the merchant has resolved it', async ({ merchant }) => {
    const order = await disputed(merchant);
    await post(merchant, order, 'dispute/evidence', { text: 'Signed for' });
    const resolution = 'A new one is on its way';
    const { dispute } = await post(merchant, order, 'dispute/resolve', { resolution });
    expect(dispute).toEqual({ ...ended, evidence: 'Signed for', resolution });
    expect((await webhookData(merchant, order, 'DISPUTE_RESOLVED'))['dispute']).toEqual(dispute);
  });

  test.for([
    [
      'accepted by the merchant',
      (merchant: Merchant, order: Order) => post(merchant, order, 'dispute/accept'),
    ],
    [
      'not resolved in time',
      (merchant: Merchant, order: Order) =>
        help(merchant, order, 'advance', { seconds: 3 * DAY_SECONDS }),
    ],
  ] as const)('%s: it ends when the buyer is refunded', async ([_how, end], { merchant }) => {
    const order = await disputed(merchant);
    await end(merchant, order);
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
    const { dispute, updated_at } = await merchant.sandbox.read(order);
    expect(dispute).toEqual({ ...ended, ended_at: updated_at });
    expect((await webhookData(merchant, order, 'REFUND_PROCESSED'))['dispute']).toEqual(dispute);
  });

  test('is replaced completely by a second dispute', async ({ merchant }) => {
    const order = await disputed(merchant);
    await post(merchant, order, 'dispute/evidence', { text: 'Signed for' });
    await post(merchant, order, 'dispute/resolve', { resolution: 'A new one is on its way' });
    const { dispute, dispute_count } = await help(merchant, order, 'dispute', {
      reason: 'The new one is torn',
    });
    expect(dispute_count).toBe(2);
    const running = { respond_by: aTime, ended_at: null };
    expect(dispute).toEqual({ ...ended, ...running, reason: 'The new one is torn' });
  });
});

describe('the timeline', () => {
  test('CLOCK_ADVANCED has the number of seconds', async ({ merchant }) => {
    const order = await create(merchant);
    await help(merchant, order, 'advance', { seconds: 3600 });
    expect((await entryOf(merchant, order, 'CLOCK_ADVANCED'))?.details).toEqual({ seconds: 3600 });
  });

  test('a command without a text still says what it did', async ({ orders, merchant }) => {
    const order = await create(merchant);
    const workflow = await orders.workflowOf(order);
    await workflow.update('advance', { seconds: 60 });
    await workflow.update('cancel');
    expect((await entryOf(merchant, order, 'CLOCK_ADVANCED'))?.details).toEqual({ seconds: 60 });
    expect((await entryOf(merchant, order, 'ORDER_CANCELLED'))?.details).toEqual({
      by: 'merchant',
    });
    expect((await merchant.sandbox.read(order)).cancellation).toMatchObject({
      by: 'merchant',
      reason: null,
    });
  });
});
