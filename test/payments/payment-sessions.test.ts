import { describe, expect } from 'vitest';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import type { Gateway } from '../support/gateway.ts';
import { alerts } from '../support/gateway.ts';
import { untilBlocked } from '../support/locks.ts';
import { startOrder } from '../support/orders.ts';
import type { TestService } from '../support/service.ts';
import { serviceTest } from '../support/service-test.ts';

const MINUTE_MS = 60_000;
const DAY_SECONDS = 24 * 3600;
const OPENING = '/v1/payments/qr_codes';

const test = serviceTest({ time: 'skipping', merchant: { webhooks: false } });

describe('a payment session', () => {
  test('is opened by the first post: 201; further posts return the same one: 200', async ({
    service,
    merchant,
  }) => {
    const order = await merchant.sandbox.create({ amount: 123.45 });
    const first = await merchant.sandbox.openSession(order);
    expect(first.status).toBe(201);
    expect(first.body.data).toEqual({
      session_id: expect.stringMatching(/^ps_/),
      status: 'open',
      upi_intent: expect.stringMatching(/^upi:\/\/pay\?.*&am=123\.45&cu=INR/),
      expires_at: expect.any(String),
    });
    const [clock] = await service.sql<{ now: Date }[]>`SELECT service_now() AS now`;
    const openedAtMs = Date.parse(first.body.data.expires_at) - 15 * MINUTE_MS;
    expect(openedAtMs).toBeGreaterThanOrEqual(Date.parse(order.created_at));
    expect(openedAtMs).toBeLessThanOrEqual(clock!.now.getTime());
    const second = await merchant.sandbox.openSession(order);
    expect([second.status, second.body.data]).toEqual([200, first.body.data]);
    const found = await merchant.sandbox.session(order, first.body.data.session_id);
    expect([found.status, found.body.data]).toEqual([200, first.body.data]);
  });

  test('is opened once by 50 concurrent posts', async ({ merchant, gateway }) => {
    const order = await merchant.sandbox.create();
    const { hits } = await gateway.addFault({ kind: 'late', path: OPENING, delayMs: 300 });
    // Only some of a merchant's requests wait for the gateway at the same time: a client repeats the others.
    const openAtLast = async () => {
      for (;;) {
        const answer = await merchant.sandbox.openSession(order);
        if (answer.status !== 429) return answer;
      }
    };
    const answers = await Promise.all(Array.from({ length: 50 }, openAtLast));
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => b - a);
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 200)]);
    expect(new Set(answers.map(({ body }) => body.data.session_id)).size).toBe(1);
    expect(await hits()).toBe(1);
  });

  test('is paid when the buyer has paid, and the order is PAID', async ({ orders }) => {
    const { readSession, pay, untilStatus } = await orders.beingPaid();
    await pay();
    await untilStatus('PAID');
    expect(await readSession()).toEqual([200, 'paid']);
  });

  test.for(ORDER_STATUSES.filter((status) => status !== 'ACCEPTED'))(
    'is refused with 400 for an order that is %s',
    async (status, { merchant, orders }) => {
      const { orderNumber } = await orders.in(status);
      const answer = await merchant.sandbox.openSession({ order_number: orderNumber });
      expect([answer.status, answer.body.message]).toEqual([
        400,
        'Cannot pay; order must be in ACCEPTED status',
      ]);
    },
  );

  test('can be opened 20 times for an order, the 21st is 400; failed ones do not count', async ({
    merchant,
    gateway,
  }) => {
    const order = await merchant.sandbox.create();
    await gateway.addFault({ kind: 'error', path: OPENING, count: 3 });
    for (const _ of [1, 2, 3]) expect((await merchant.sandbox.openSession(order)).status).toBe(502);
    for (let count = 1; count <= 20; count += 1) {
      expect([count, (await merchant.sandbox.openSession(order)).status]).toEqual([count, 201]);
      await merchant.sandbox.help(order, 'advance', { seconds: 15 * 60 });
    }
    const answer = await merchant.sandbox.openSession(order);
    expect([answer.status, answer.body.message]).toEqual([
      400,
      'Cannot open another payment session for this order',
    ]);
  });

  test('is 404 when it is unknown, of another order, or of an unknown order', async ({
    merchant,
  }) => {
    const [order, other] = [await merchant.sandbox.create(), await merchant.sandbox.create()];
    const { session_id } = (await merchant.sandbox.openSession(other)).body.data;
    expect((await merchant.sandbox.session(order, 'ps_unknown')).status).toBe(404);
    expect((await merchant.sandbox.session(order, session_id)).status).toBe(404);
    const unknown = { order_number: 'ORD00000000000000000000000000' };
    expect([
      (await merchant.sandbox.openSession(unknown)).status,
      (await merchant.sandbox.session(unknown, session_id)).status,
    ]).toEqual([404, 404]);
  });

  test('is 403 for a merchant that is suspended after its credentials were checked', async ({
    service,
  }) => {
    const suspended = await service.newMerchant({ webhooks: false });
    const order = await suspended.sandbox.create();
    const { promise: answer } = await service.sql.begin(async (sql) => {
      await sql`SELECT FROM orders WHERE order_number = ${order.order_number} FOR UPDATE`;
      const opening = suspended.sandbox.openSession(order);
      await untilBlocked(service, 'reserve_payment_session');
      await sql`UPDATE merchants SET status = 'SUSPENDED' WHERE merchant_id = ${suspended.merchantId}`;
      return { promise: opening };
    });
    const { status, body } = await answer;
    expect([status, body.message]).toEqual([403, 'Merchant account is not active']);
  });
});

describe('the expiry of a payment session', () => {
  test('is 408 with the order still ACCEPTED, and the next post opens a new session', async ({
    service,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const { session_id } = (await merchant.sandbox.openSession(order)).body.data;
    await service.skip(14 * MINUTE_MS);
    expect((await merchant.sandbox.session(order, session_id)).status).toBe(200);
    await service.skip(2 * MINUTE_MS);
    const { status, body } = await merchant.sandbox.session(order, session_id);
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
    const next = await merchant.sandbox.openSession(order);
    expect(next.status).toBe(201);
    expect(next.body.data.session_id).not.toBe(session_id);
    expect((await merchant.sandbox.session(order, session_id)).status).toBe(408);
  });

  test('comes nearer with `advance`', async ({ merchant }) => {
    const order = await merchant.sandbox.create();
    const before = (await merchant.sandbox.openSession(order)).body.data;
    await merchant.sandbox.help(order, 'advance', { seconds: 600 });
    const after = (await merchant.sandbox.session(order, before.session_id)).body.data;
    expect(Date.parse(before.expires_at) - Date.parse(after.expires_at)).toBe(600_000);
    await merchant.sandbox.help(order, 'advance', { seconds: 300 });
    expect((await merchant.sandbox.session(order, before.session_id)).status).toBe(408);
  });

  test('is never later than that of the payment link', async ({ merchant }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'advance', { seconds: DAY_SECONDS - 300 });
    const { status, body } = await merchant.sandbox.openSession(order);
    expect(status).toBe(201);
    expect(body.data.expires_at).toBe((await merchant.sandbox.read(order)).payment_link_expires_at);
  });

  test('loses no money, and stays expired: a later capture makes the order PAID', async ({
    orders,
  }) => {
    const { advance, readSession, pay, untilStatus } = await orders.beingPaid();
    await advance(15 * 60);
    expect(await readSession()).toEqual([408, undefined]);
    await pay();
    await untilStatus('PAID');
    expect(await readSession()).toEqual([408, undefined]);
  });
});

describe('while the gateway is unavailable, a payment session is 502 and nothing is left behind', () => {
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
      ({ gateway }) => gateway.endFaults(),
    ]),
  ];

  test.for(OUTAGES)('%s', async ([_outage, begin, end], { service, merchant, gateway }) => {
    const [order, another] = [await merchant.sandbox.create(), await merchant.sandbox.create()];
    await begin({ service, gateway });
    const answer = await merchant.sandbox.openSession(order);
    const cancelled = await merchant.sandbox.post(`/orders/${order.order_number}/cancel`);
    const failed = await merchant.sandbox.openSession(another);
    await end({ service, gateway });
    expect([answer.status, answer.body.message]).toEqual([502, MESSAGE]);
    expect(failed.status).toBe(502);
    // No session is open, so a cancel has nothing to close and does not call the gateway.
    expect(cancelled.status).toBe(200);
    expect((await merchant.sandbox.openSession(another)).status).toBe(201);
  });

  test('production without a configured gateway: not available yet, and an alert names the gateway', async ({
    service,
  }) => {
    const payable = await service.newMerchant({ webhooks: false, linkedAccountId: 'acc_Asha' });
    const { orderNumber } = await startOrder(service, { ...payable, environment: 'production' });
    const answer = await payable.production.openSession({ order_number: orderNumber });
    expect([answer.status, answer.body.message]).toEqual([502, NOT_AVAILABLE]);
    expect(alerts(service, 'no_gateway', orderNumber)).toMatchObject([
      { environment: 'production', merchantId: payable.merchantId },
    ]);
    expect(alerts(service, 'no_gateway', orderNumber)[0]?.msg).toBe(
      'No UPI gateway is configured for production: the settings PRODUCTION_RAZORPAY_*',
    );
    const helped = await payable.production.help({ order_number: orderNumber }, 'pay');
    expect(helped.status).toBe(404);
    // There is no secret to sign with, so no callback is accepted either.
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

  test('production for a merchant without a linked account: the same, and the alert names the merchant', async ({
    service,
  }) => {
    const unlinked = await service.newMerchant({ webhooks: false });
    const { orderNumber } = await startOrder(service, { ...unlinked, environment: 'production' });
    const answer = await unlinked.production.openSession({ order_number: orderNumber });
    expect([answer.status, answer.body.message]).toEqual([502, NOT_AVAILABLE]);
    expect(alerts(service, 'no_linked_account', orderNumber)).toMatchObject([
      { merchantId: unlinked.merchantId },
    ]);
  });
});
