import { describe, expect } from 'vitest';
import type { OrderStatus } from '../../src/domain/index.ts';
import type { ApiClient, OrderRef } from '../support/api-client.ts';
import type { Gateway } from '../support/gateway.ts';
import { alerts, payAtGateway, sessionOf } from '../support/gateway.ts';
import type { Merchant } from '../support/merchant.ts';
import { startOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { serviceTest } from '../support/service-test.ts';

const MINUTE_MS = 60_000;
const DAY_SECONDS = 24 * 3600;
const OPENING = '/v1/payments/qr_codes';

interface PaymentSession {
  session_id: string;
  status: 'open' | 'paid' | 'closed';
  upi_intent: string;
  expires_at: string;
}

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } });

const open = (api: ApiClient, { order_number }: OrderRef) =>
  api.call<PaymentSession>('POST', `/orders/${order_number}/payment-sessions`);
const look = (api: ApiClient, { order_number }: OrderRef, session: string) =>
  api.get<PaymentSession>(`/orders/${order_number}/payment-sessions/${session}`);
const advance = (merchant: Merchant, order: OrderRef, seconds: number) =>
  merchant.sandbox.help(order, 'advance', { seconds });

describe('a payment session', () => {
  test('is opened by the first post: 201; the next ones answer the same one: 200', async ({
    merchant,
  }) => {
    const order = await merchant.sandbox.create({ amount: 123.45 });
    const first = await open(merchant.sandbox, order);
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
    const second = await open(merchant.sandbox, order);
    expect([second.status, second.body.data]).toEqual([200, first.body.data]);
    const found = await look(merchant.sandbox, order, first.body.data.session_id);
    expect([found.status, found.body.data]).toEqual([200, first.body.data]);
  });

  test('is one, however many of 50 concurrent posts ask for it', async ({ merchant, gateway }) => {
    const order = await merchant.sandbox.create();
    const { hits } = await gateway.addFault({ kind: 'late', path: OPENING, delayMs: 300 });
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => open(merchant.sandbox, order)),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => b - a);
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 200)]);
    expect(new Set(answers.map(({ body }) => body.data.session_id)).size).toBe(1);
    expect(await hits()).toBe(1);
  });

  test('is paid when the buyer has paid, and the order is PAID', async ({ service, merchant }) => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(merchant.sandbox, order)).body.data;
    await payAtGateway(service, (await sessionOf(service, order)).gatewaySessionId);
    await merchant.sandbox.untilStatus(order, 'PAID');
    expect((await look(merchant.sandbox, order, session_id)).body.data.status).toBe('paid');
  });

  test.for<OrderStatus>([
    'PAID',
    'DELIVERED',
    'DISPUTE_OPEN',
    'DISPUTE_UNDER_REVIEW',
    'COMPLETED',
    'REFUNDED',
    'CANCELLED',
  ])('is refused with 400 for an order that is %s', async (status, { merchant, orders }) => {
    const { orderNumber } = await orders.in(status);
    const answer = await open(merchant.sandbox, { order_number: orderNumber });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'Cannot pay; order must be in ACCEPTED status',
    ]);
  });

  test('can be had 20 times for an order, the 21st is 400; those that failed do not count', async ({
    merchant,
    gateway,
  }) => {
    const order = await merchant.sandbox.create();
    await gateway.addFault({ kind: 'error', path: OPENING, count: 3 });
    for (const _ of [1, 2, 3]) expect((await open(merchant.sandbox, order)).status).toBe(502);
    for (let count = 1; count <= 20; count += 1) {
      expect([count, (await open(merchant.sandbox, order)).status]).toEqual([count, 201]);
      await advance(merchant, order, 15 * 60);
    }
    const answer = await open(merchant.sandbox, order);
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'Cannot open another payment session for this order',
    ]);
  });

  test('is 404 when it is unknown, of another order, or of an unknown order', async ({
    merchant,
  }) => {
    const [order, other] = [await merchant.sandbox.create(), await merchant.sandbox.create()];
    const { session_id } = (await open(merchant.sandbox, other)).body.data;
    expect((await look(merchant.sandbox, order, 'ps_unknown')).status).toBe(404);
    expect((await look(merchant.sandbox, order, session_id)).status).toBe(404);
    const unknown = { order_number: 'ORD00000000000000000000000000' };
    expect([
      (await open(merchant.sandbox, unknown)).status,
      (await look(merchant.sandbox, unknown, session_id)).status,
    ]).toEqual([404, 404]);
  });

  test("is 403 for another merchant's order", async ({ service, merchant }) => {
    const stranger = await service.newMerchant({ webhooks: false });
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(merchant.sandbox, order)).body.data;
    expect((await open(stranger.sandbox, order)).status).toBe(403);
    expect((await look(stranger.sandbox, order, session_id)).status).toBe(403);
  });

  test('is 403 for a suspended merchant, and none opens', async ({ service }) => {
    const suspended = await service.newMerchant({ webhooks: false });
    const order = await suspended.sandbox.create();
    await service.sql`
      UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${suspended.merchantId}`;
    const answer = await open(suspended.sandbox, order);
    expect([answer.status, answer.body.message]).toEqual([403, 'Merchant account is not active']);
    await expect(sessionOf(service, order)).rejects.toThrow('has no session');
  });
});

describe('the expiry of a payment session', () => {
  test('is 408 with the order still ACCEPTED, and the next post opens a new session', async ({
    service,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(merchant.sandbox, order)).body.data;
    await service.skip(14 * MINUTE_MS);
    expect((await look(merchant.sandbox, order, session_id)).status).toBe(200);
    await service.skip(2 * MINUTE_MS);
    const { status, body } = await look(merchant.sandbox, order, session_id);
    expect([status, body]).toEqual([
      408,
      {
        success: false,
        message: 'Payment session expired',
        data: null,
        timestamp: expect.any(String),
      },
    ]);
    expect((await merchant.sandbox.read(order)).status).toBe('ACCEPTED');
    const next = await open(merchant.sandbox, order);
    expect(next.status).toBe(201);
    expect(next.body.data.session_id).not.toBe(session_id);
    expect((await look(merchant.sandbox, order, session_id)).status).toBe(408);
  });

  test('comes nearer with `advance`', async ({ merchant }) => {
    const order = await merchant.sandbox.create();
    const before = (await open(merchant.sandbox, order)).body.data;
    await advance(merchant, order, 600);
    const after = (await look(merchant.sandbox, order, before.session_id)).body.data;
    expect(Date.parse(before.expires_at) - Date.parse(after.expires_at)).toBe(600_000);
    await advance(merchant, order, 300);
    expect((await look(merchant.sandbox, order, before.session_id)).status).toBe(408);
  });

  test('is never later than that of the payment link', async ({ merchant }) => {
    const order = await merchant.sandbox.create();
    await advance(merchant, order, DAY_SECONDS - 300);
    const { status, body } = await open(merchant.sandbox, order);
    expect(status).toBe(201);
    expect(body.data.expires_at).toBe((await merchant.sandbox.read(order)).payment_link_expires_at);
  });

  test('does not make money go astray: what is captured after it makes the order PAID', async ({
    service,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await open(merchant.sandbox, order)).body.data;
    await advance(merchant, order, 15 * 60);
    expect((await look(merchant.sandbox, order, session_id)).status).toBe(408);
    await payAtGateway(service, (await sessionOf(service, order)).gatewaySessionId);
    await merchant.sandbox.untilStatus(order, 'PAID');
    expect((await look(merchant.sandbox, order, session_id)).body.data.status).toBe('paid');
  });
});

describe('while the gateway is away, a payment session is 502 and nothing is left behind', () => {
  const MESSAGE = 'The UPI payment gateway is temporarily unavailable; retry after a few minutes';
  const NOT_AVAILABLE = 'Payments are not available yet for this merchant account';
  type Switch = (parts: { service: TestService; gateway: Gateway }) => Promise<unknown>;
  const OUTAGES: [string, Switch, Switch][] = [
    [
      'it refuses connections',
      ({ service }) => service.simulator.refuseConnections(),
      ({ service }) => service.simulator.acceptConnections(),
    ],
    ...(['error', 'reset', 'drop_answer'] as const).map((kind): (typeof OUTAGES)[number] => [
      `of every call: ${kind}`,
      ({ gateway }) => gateway.addFault({ kind }),
      ({ gateway }) => gateway.mend(),
    ]),
  ];

  test.for(OUTAGES)('%s', async ([_outage, begin, end], { service, merchant, gateway }) => {
    const [order, another] = [await merchant.sandbox.create(), await merchant.sandbox.create()];
    await begin({ service, gateway });
    const answer = await open(merchant.sandbox, order);
    const cancelled = await merchant.sandbox.post(`/orders/${order.order_number}/cancel`);
    const failed = await open(merchant.sandbox, another);
    await end({ service, gateway });
    expect([answer.status, answer.body.message]).toEqual([502, MESSAGE]);
    expect(failed.status).toBe(502);
    // Nothing is open, so a cancel has nothing to close and asks nobody.
    expect(cancelled.status).toBe(200);
    expect((await open(merchant.sandbox, another)).status).toBe(201);
  });

  test('production without a configured gateway: not available yet, and an alert names it', async ({
    service,
  }) => {
    const payable = await service.newMerchant({ webhooks: false, linkedAccountId: 'acc_Asha' });
    const { orderNumber } = await startOrder(service, { ...payable, environment: 'production' });
    const answer = await open(payable.production, { order_number: orderNumber });
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

  test('production for a merchant without a linked account: the same, and the alert says which', async ({
    service,
  }) => {
    const unlinked = await service.newMerchant({ webhooks: false });
    const { orderNumber } = await startOrder(service, { ...unlinked, environment: 'production' });
    const answer = await open(unlinked.production, { order_number: orderNumber });
    expect([answer.status, answer.body.message]).toEqual([502, NOT_AVAILABLE]);
    expect(alerts(service, 'no_linked_account', orderNumber)).toMatchObject([
      { merchantId: unlinked.merchantId },
    ]);
  });
});
