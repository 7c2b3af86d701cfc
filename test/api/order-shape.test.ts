import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Order } from '../../src/orders/schemas.ts';
import type { Timeline } from '../../src/orders/timeline.ts';
import { askGateway, sessionOf, simulator } from '../support/gateway.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

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

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'real' });
  worker = await service.startWorker();
  merchant = await service.newMerchant();
});
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const create = () => merchant.sandbox.create({ merchantOrderId: 'shop-1', buyerName: 'Asha Rao' });
const read = async ({ order_number }: Order) =>
  (await merchant.sandbox.get(`/orders/${order_number}`)).body.data;
const post = async ({ order_number }: Order, path: string, body?: unknown) =>
  (await merchant.sandbox.post(`/orders/${order_number}/${path}`, body)).body.data;
const help = async (order: Order, helper: string, body?: unknown) =>
  (await merchant.sandbox.help(order, helper, body)).body.data;
const untilStatus = (order: Order, status: Order['status']) =>
  until(async () => (await read(order)).status === status);

/** The webhook of an order's event of this type. */
async function told({ order_number: orderNumber }: Order, type: string) {
  const [webhook] = await merchant.receiver.until(
    1,
    ({ event, body }) => event === type && body.data['order_number'] === orderNumber,
  );
  return webhook!.body.data;
}

async function entryOf({ order_number }: Order, kind: string) {
  const { body } = await merchant.sandbox.get<Timeline>(`/orders/${order_number}/timeline`);
  return body.data.entries.find((entry) => entry.kind === kind);
}

const DISPUTE = { reason: 'It never arrived at my door' };

describe('one shape of the order', () => {
  test('every answer and event lists the same fields in the same order', async () => {
    const order = await create();
    const { order_number: number } = order;
    const { body: list } = await merchant.sandbox.get<{ content: Order[] }>('/orders?size=1');
    const answers = [
      order,
      list.data.content[0]!,
      await help(order, 'fail-payment'),
      await help(order, 'pay'),
      await post(order, 'deliver'),
      await help(order, 'dispute', DISPUTE),
      await post(order, 'dispute/evidence', { text: 'Signed for' }),
      await post(order, 'dispute/resolve', { resolution: 'A new one is on its way' }),
      await help(order, 'advance', { seconds: 60 }),
      await read(order),
    ];
    for (const answer of answers) {
      expect([answer.order_number, Object.keys(answer)]).toEqual([number, FIELDS]);
      expect(Object.keys(answer.buyer)).toEqual(['email', 'name', 'phone']);
    }
    expect(Object.keys(answers.at(-1)!.dispute!)).toEqual(DISPUTE_FIELDS);
    for (const type of ['ORDER_CREATED', 'PAYMENT_SUCCESS', 'DISPUTE_RESOLVED']) {
      expect(Object.keys(await told(order, type))).toEqual(FIELDS);
    }
    expect(Object.keys(await told(order, 'PAYMENT_FAILED'))).toEqual([
      ...FIELDS,
      'payment_failure',
    ]);
  });

  test('a command answers exactly what GET shows', async () => {
    const order = await create();
    expect(JSON.stringify(await help(order, 'pay'))).toBe(JSON.stringify(await read(order)));
  });
});

describe('the payment', () => {
  test('PAYMENT_SUCCESS carries the id and the UTR that the gateway gave it', async () => {
    const order = await create();
    expect(order.payment).toBeNull();
    const paid = await help(order, 'pay');
    const id = paid.payment!.gateway_payment_id;
    const { acquirer_data } = await askGateway<{ acquirer_data: { rrn: string } }>(
      service,
      'GET',
      `/v1/payments/${id}`,
    );
    const payment = { gateway_payment_id: id, utr: acquirer_data.rrn, paid_at: aTime };
    expect(paid.payment).toEqual(payment);
    expect((await told(order, 'PAYMENT_SUCCESS'))['payment']).toEqual(paid.payment);
    expect((await entryOf(order, 'PAYMENT_SUCCESS'))?.details).toEqual({
      gateway_payment_id: id,
      utr: acquirer_data.rrn,
    });
  });

  test('PAYMENT_FAILED carries the reason that the gateway gave', async () => {
    const order = await create();
    await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    const { gateway_session_id: id } = await sessionOf(service, order);
    await simulator(service, 'POST', `/qr_codes/${id}/fail`);
    const reason = 'Payment was unsuccessful as the transaction was declined in the UPI app.';
    expect((await told(order, 'PAYMENT_FAILED'))['payment_failure']).toEqual({ reason });
    expect((await entryOf(order, 'PAYMENT_FAILED'))?.details).toEqual({ reason });
  });
});

describe('the cancellation', () => {
  test('says that it was the merchant, and why', async () => {
    const order = await create();
    expect(order.cancellation).toBeNull();
    const cancelled = await post(order, 'cancel', { reason: 'Sold out' });
    const cancellation = { by: 'merchant', reason: 'Sold out', cancelled_at: aTime };
    expect(cancelled.cancellation).toEqual(cancellation);
    expect((await told(order, 'ORDER_CANCELLED'))['cancellation']).toEqual(cancellation);
    expect((await entryOf(order, 'ORDER_CANCELLED'))?.details).toEqual({
      by: 'merchant',
      reason: 'Sold out',
    });
  });

  test('is the merchant’s also when a payment session had to be closed first', async () => {
    const order = await create();
    await merchant.sandbox.post(`/orders/${order.order_number}/payment-sessions`);
    const { cancellation } = await post(order, 'cancel', { reason: 'Sold out' });
    expect(cancellation).toEqual({ by: 'merchant', reason: 'Sold out', cancelled_at: aTime });
  });

  test('says that it was the expiry of the payment link', async () => {
    const order = await create();
    await help(order, 'advance', { seconds: DAY_SECONDS });
    const cancellation = { by: 'expiry', reason: null, cancelled_at: aTime };
    expect((await told(order, 'ORDER_CANCELLED'))['cancellation']).toEqual(cancellation);
    expect((await entryOf(order, 'ORDER_CANCELLED'))?.details).toEqual({ by: 'expiry' });
  });
});

describe('a dispute stays readable after it ended', () => {
  async function disputed(): Promise<Order> {
    const order = await create();
    await help(order, 'pay');
    return help(order, 'dispute', DISPUTE);
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

  test('while it runs it has a deadline and no end', async () => {
    expect((await disputed()).dispute).toEqual({ ...ended, respond_by: aTime, ended_at: null });
  });

  test('resolved by the merchant: with the resolution', async () => {
    const order = await disputed();
    await post(order, 'dispute/evidence', { text: 'Signed for' });
    const resolution = 'A new one is on its way';
    const { dispute } = await post(order, 'dispute/resolve', { resolution });
    expect(dispute).toEqual({ ...ended, evidence: 'Signed for', resolution });
    expect((await told(order, 'DISPUTE_RESOLVED'))['dispute']).toEqual(dispute);
  });

  test.each([
    ['accepted by the merchant', (order: Order) => post(order, 'dispute/accept')],
    [
      'not resolved in time',
      (order: Order) => help(order, 'advance', { seconds: 3 * DAY_SECONDS }),
    ],
  ])('%s: it ends when the buyer is refunded', async (_how, end) => {
    const order = await disputed();
    await end(order);
    await untilStatus(order, 'REFUNDED');
    const { dispute, updated_at } = await read(order);
    expect(dispute).toEqual({ ...ended, ended_at: updated_at });
    expect((await told(order, 'REFUND_PROCESSED'))['dispute']).toEqual(dispute);
  });

  test('a second one takes its place, with nothing left of the first', async () => {
    const order = await disputed();
    await post(order, 'dispute/evidence', { text: 'Signed for' });
    await post(order, 'dispute/resolve', { resolution: 'A new one is on its way' });
    const { dispute, dispute_count } = await help(order, 'dispute', {
      reason: 'The new one is torn',
    });
    expect(dispute_count).toBe(2);
    const running = { respond_by: aTime, ended_at: null };
    expect(dispute).toEqual({ ...ended, ...running, reason: 'The new one is torn' });
  });
});

describe('the timeline', () => {
  test('CLOCK_ADVANCED says by how many seconds', async () => {
    const order = await create();
    await help(order, 'advance', { seconds: 3600 });
    expect((await entryOf(order, 'CLOCK_ADVANCED'))?.details).toEqual({ seconds: 3600 });
  });

  test('an operator’s message without any text still says what it did', async () => {
    const order = await create();
    const handle = service.temporal.client.workflow.getHandle(order.order_number);
    await handle.executeUpdate<void, [object]>('advance', { args: [{ seconds: 60 }] });
    await handle.executeUpdate<void, []>('cancel');
    expect((await entryOf(order, 'CLOCK_ADVANCED'))?.details).toEqual({ seconds: 60 });
    expect((await entryOf(order, 'ORDER_CANCELLED'))?.details).toEqual({ by: 'merchant' });
    expect((await read(order)).cancellation).toMatchObject({ by: 'merchant', reason: null });
  });
});
