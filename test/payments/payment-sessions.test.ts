import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import { alerts, breakGateway, payAtGateway, sessionOf, simulator } from '../support/gateway.ts';
import { startOrder, startOrderIn } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { startTestService } from '../support/service.ts';
import { until } from '../support/until.ts';

const MINUTE_MS = 60_000;
const DAY_SECONDS = 24 * 3600;
const OPENING = '/v1/payments/qr_codes';

interface PaymentSession {
  session_id: string;
  status: 'open' | 'paid' | 'closed';
  upi_intent: string;
  expires_at: string;
}
interface Named {
  order_number: string;
}

let service: TestService;
let worker: Awaited<ReturnType<TestService['startWorker']>>;
let merchant: Awaited<ReturnType<TestService['newMerchant']>>;

beforeAll(async () => {
  service = await startTestService({ time: 'skipping' });
  worker = await service.startWorker();
  merchant = await service.newMerchant({ webhooks: false });
});
afterEach(() => simulator(service, 'DELETE', '/faults'));
afterAll(async () => {
  await worker?.stop();
  await service?.stop();
});

const open = ({ order_number }: Named, by = merchant.sandbox) =>
  by.call<PaymentSession>('POST', `/orders/${order_number}/payment-sessions`);
const look = ({ order_number }: Named, session: string, by = merchant.sandbox) =>
  by.get<PaymentSession>(`/orders/${order_number}/payment-sessions/${session}`);
const read = async ({ order_number }: Named) =>
  (await merchant.sandbox.get(`/orders/${order_number}`)).body.data;
const advance = (order: Named, seconds: number) =>
  merchant.sandbox.help(order, 'advance', { seconds });

describe('a payment session', () => {
  test('is opened by the first post: 201; the next ones answer the same one: 200', async () => {
    const order = await merchant.sandbox.create({ amount: 123.45 });
    const first = await open(order);
    expect(first.status).toBe(201);
    expect(first.body.data).toEqual({
      session_id: expect.stringMatching(/^ps_/),
      status: 'open',
      upi_intent: expect.stringMatching(/^upi:\/\/pay\?.*&am=123\.45&cu=INR/),
      expires_at: expect.any(String),
    });
    const lastsMs = Date.parse(first.body.data.expires_at) - Date.parse(order.created_at);
    expect(lastsMs).toBeGreaterThanOrEqual(15 * MINUTE_MS);
    expect(lastsMs).toBeLessThan(16 * MINUTE_MS);
    const second = await open(order);
    expect([second.status, second.body.data]).toEqual([200, first.body.data]);
    const found = await look(order, first.body.data.session_id);
    expect([found.status, found.body.data]).toEqual([200, first.body.data]);
  });

  test('is one, however many of 50 concurrent posts ask for it', async () => {
    const order = await merchant.sandbox.create();
    const { hits } = await breakGateway(service, { kind: 'late', path: OPENING, delayMs: 300 });
    const answers = await Promise.all(Array.from({ length: 50 }, () => open(order)));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => b - a);
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 200)]);
    expect(new Set(answers.map(({ body }) => body.data.session_id)).size).toBe(1);
    expect(await hits()).toBe(1);
  });

  test('is paid when the buyer has paid, and the order is PAID', async () => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(order)).body.data;
    await payAtGateway(service, (await sessionOf(service, order)).gateway_session_id);
    await until(async () => (await read(order)).status === 'PAID');
    expect((await look(order, session_id)).body.data.status).toBe('paid');
  });

  test.each<OrderStatus>([
    'PAID',
    'DELIVERED',
    'DISPUTE_OPEN',
    'DISPUTE_UNDER_REVIEW',
    'COMPLETED',
    'REFUNDED',
    'CANCELLED',
  ])('is refused with 400 for an order that is %s', async (status) => {
    const { orderNumber } = await startOrderIn(service, status, merchant);
    const answer = await open({ order_number: orderNumber });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'Cannot pay; order must be in ACCEPTED status',
    ]);
  });

  test('can be had 20 times for an order, the 21st is 400; those that failed do not count', async () => {
    const order = await merchant.sandbox.create();
    await breakGateway(service, { kind: 'error', path: OPENING, count: 3 });
    for (const _ of [1, 2, 3]) expect((await open(order)).status).toBe(502);
    for (let count = 1; count <= 20; count += 1) {
      expect([count, (await open(order)).status]).toEqual([count, 201]);
      await advance(order, 15 * 60);
    }
    const answer = await open(order);
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'Cannot open another payment session for this order',
    ]);
  });

  test('is 404 when it is unknown, of another order, or of an unknown order', async () => {
    const [order, other] = [await merchant.sandbox.create(), await merchant.sandbox.create()];
    const { session_id } = (await open(other)).body.data;
    expect((await look(order, 'ps_unknown')).status).toBe(404);
    expect((await look(order, session_id)).status).toBe(404);
    const unknown = { order_number: 'ORD00000000000000000000000000' };
    expect([(await open(unknown)).status, (await look(unknown, session_id)).status]).toEqual([
      404, 404,
    ]);
  });

  test("is 403 for another merchant's order", async () => {
    const stranger = await service.newMerchant({ webhooks: false });
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(order)).body.data;
    expect((await open(order, stranger.sandbox)).status).toBe(403);
    expect((await look(order, session_id, stranger.sandbox)).status).toBe(403);
  });

  test('is 403 for a suspended merchant, and none opens', async () => {
    const suspended = await service.newMerchant({ webhooks: false });
    const order = await suspended.sandbox.create();
    await service.sql`
      UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${suspended.merchantId}`;
    const answer = await open(order, suspended.sandbox);
    expect([answer.status, answer.body.message]).toEqual([403, 'Merchant account is not active']);
    await expect(sessionOf(service, order)).rejects.toThrow('has no session');
  });
});

describe('the expiry of a payment session', () => {
  test('is 408 with the order still ACCEPTED, and the next post opens a new session', async () => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(order)).body.data;
    await service.skip(14 * MINUTE_MS);
    expect((await look(order, session_id)).status).toBe(200);
    await service.skip(2 * MINUTE_MS);
    const { status, body } = await look(order, session_id);
    expect([status, body]).toEqual([
      408,
      {
        success: false,
        message: 'Payment session expired',
        data: null,
        timestamp: expect.any(String),
      },
    ]);
    expect((await read(order)).status).toBe('ACCEPTED');
    const next = await open(order);
    expect(next.status).toBe(201);
    expect(next.body.data.session_id).not.toBe(session_id);
    expect((await look(order, session_id)).status).toBe(408);
  });

  test('comes nearer with `advance`', async () => {
    const order = await merchant.sandbox.create();
    const before = (await open(order)).body.data;
    await advance(order, 600);
    const after = (await look(order, before.session_id)).body.data;
    expect(Date.parse(before.expires_at) - Date.parse(after.expires_at)).toBe(600_000);
    await advance(order, 300);
    expect((await look(order, before.session_id)).status).toBe(408);
  });

  test('is never later than that of the payment link', async () => {
    const order = await merchant.sandbox.create();
    await advance(order, DAY_SECONDS - 300);
    const { status, body } = await open(order);
    expect(status).toBe(201);
    expect(body.data.expires_at).toBe((await read(order)).payment_link_expires_at);
  });

  test('does not make money go astray: what is captured after it makes the order PAID', async () => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(order)).body.data;
    await advance(order, 15 * 60);
    expect((await look(order, session_id)).status).toBe(408);
    await payAtGateway(service, (await sessionOf(service, order)).gateway_session_id);
    await until(async () => (await read(order)).status === 'PAID');
    expect((await look(order, session_id)).body.data.status).toBe('paid');
  });
});

describe('while the gateway is away, a payment session is 502 and nothing is left behind', () => {
  const MESSAGE = 'The UPI payment gateway is temporarily unavailable; retry after a few minutes';
  const NOT_AVAILABLE = 'Payments are not available yet for this merchant account';
  const OUTAGES: [string, () => Promise<unknown>, () => Promise<unknown>][] = [
    [
      'it refuses connections',
      () => service.simulator.refuseConnections(),
      () => service.simulator.acceptConnections(),
    ],
    ...(['error', 'reset', 'drop_answer'] as const).map((kind): (typeof OUTAGES)[number] => [
      `of every call: ${kind}`,
      () => breakGateway(service, { kind }),
      () => simulator(service, 'DELETE', '/faults'),
    ]),
  ];

  test.each(OUTAGES)('%s', async (_outage, begin, end) => {
    const [order, another] = [await merchant.sandbox.create(), await merchant.sandbox.create()];
    await begin();
    const answer = await open(order);
    const cancelled = await merchant.sandbox.post(`/orders/${order.order_number}/cancel`);
    const failed = await open(another);
    await end();
    expect([answer.status, answer.body.message]).toEqual([502, MESSAGE]);
    expect(failed.status).toBe(502);
    // Nothing is open, so a cancel has nothing to close and asks nobody.
    expect(cancelled.status).toBe(200);
    expect((await open(another)).status).toBe(201);
  });

  test('production without a configured gateway: not available yet, and an alert names it', async () => {
    const payable = await service.newMerchant({ webhooks: false, linkedAccountId: 'acc_Asha' });
    const { orderNumber } = await startOrder(service, { ...payable, environment: 'production' });
    const answer = await open({ order_number: orderNumber }, payable.production);
    expect([answer.status, answer.body.message]).toEqual([502, NOT_AVAILABLE]);
    expect(alerts(service, 'no_gateway', orderNumber)).toMatchObject([
      { environment: 'production', merchantId: payable.merchantId },
    ]);
    expect(alerts(service, 'no_gateway', orderNumber)[0]?.msg).toBe(
      'No UPI gateway is configured for production: the settings PRODUCTION_RAZORPAY_*',
    );
    const helped = await payable.production.help({ order_number: orderNumber }, 'pay');
    expect(helped.status).toBe(404);
    // Nobody has a secret to sign with, so no callback is believed either.
    const callback = await fetch(`${service.origin}/callbacks/razorpay/production`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-razorpay-signature': '0'.repeat(64) },
      body: JSON.stringify({ entity: 'event', event: 'payment.captured', payload: {} }),
    });
    expect(callback.status).toBe(401);
    expect(
      await service.sql`SELECT 1 FROM gateway_callbacks WHERE environment = 'production'`,
    ).toHaveLength(0);
  });

  test('production for a merchant without a linked account: the same, and the alert says which', async () => {
    const unlinked = await service.newMerchant({ webhooks: false });
    const { orderNumber } = await startOrder(service, { ...unlinked, environment: 'production' });
    const answer = await open({ order_number: orderNumber }, unlinked.production);
    expect([answer.status, answer.body.message]).toEqual([502, NOT_AVAILABLE]);
    expect(alerts(service, 'no_linked_account', orderNumber)).toMatchObject([
      { merchantId: unlinked.merchantId },
    ]);
  });
});
