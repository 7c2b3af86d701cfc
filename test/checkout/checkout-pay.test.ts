import { expect } from 'vitest';
import { checkoutRoutes } from '../../src/checkout/routes.ts';
import { errorOf } from '../../src/http/errors.ts';
import { createMemoryRateLimiter } from '../../src/http/rate-limit.ts';
import { serve } from '../api/http-support.ts';
import { simulator } from '../support/gateway.ts';
import { serviceTest } from '../support/service-test.ts';
import type { TestService } from '../support/service.ts';
import { open, post, textOf } from './buyer.ts';
import type { Stage } from './states.ts';
import { gatewaySessionOf, stageOf, untilStatus, WAYS } from './states.ts';

const test = serviceTest({ time: 'real', settings: { BUYER_RATE_LIMIT_PER_SECOND: '100000' } });

const pressPay = ({ order }: Stage, init: RequestInit = {}) =>
  post(`${order.payment_url}/sessions`, {}, init);

const countSessions = async (service: TestService, { order }: Stage) => {
  const rows = await service.sql`SELECT FROM payment_sessions
    WHERE order_number = ${order.order_number}`;
  return rows.length;
};

test('a buyer pays with nothing but forms and links, and sees it on the page', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant);
  const waiting = await pressPay(stage);
  expect(waiting.url).toBe(stage.order.payment_url);
  const [, upiApp = ''] = /href="(http[^"]*\/upi\/[^"]+)"/.exec(waiting.html) ?? [];
  await post(upiApp, { action: 'pay', vpa: 'success@razorpay' });
  await untilStatus(stage, 'PAID');
  expect(textOf((await open(stage.order.payment_url)).html)).toContain('Payment successful');
});

test('the form answers 303, so that a reload sends nothing again', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant);
  const { status, headers } = await pressPay(stage, { redirect: 'manual' });
  const { pathname } = new URL(stage.order.payment_url);
  expect([status, headers.get('location')]).toEqual([303, pathname]);
});

test('pressing twice opens one session', async ({ service, merchant }) => {
  const stage = await stageOf(service, merchant);
  const pages = await Promise.all([pressPay(stage), pressPay(stage), pressPay(stage)]);
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
  await pressPay(stage);
  expect(await countSessions(service, stage)).toBe(1);
});

test('after an expired session the button opens a new one, and the order is still ACCEPTED', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant, WAYS.session_expired);
  expect((await open(stage.order.payment_url)).status).toBe(408);
  const { body } = await merchant.sandbox.get(`/orders/${stage.order.order_number}`);
  expect(body.data.status).toBe('ACCEPTED');
  const again = await pressPay(stage);
  expect([again.status, textOf(again.html).includes('Waiting for your payment')]).toEqual([
    200,
    true,
  ]);
  expect(await countSessions(service, stage)).toBe(2);
});

test('while the gateway is away the page says so with 502, and the button stays', async ({
  service,
  merchant,
  gateway,
}) => {
  const stage = await stageOf(service, merchant);
  await gateway.addFault({ kind: 'error', method: 'POST' });
  const { status, html, headers } = await pressPay(stage);
  expect(status).toBe(502);
  expect(textOf(html)).toContain('The UPI payment system cannot be reached at the moment.');
  expect(textOf(html)).toContain(`Reference for support: ${headers.get('X-Request-Id')}`);
  expect(html).toMatch(/role="alert"/);
  expect(html).toContain('/sessions"');
  await gateway.mend();
  expect((await pressPay(stage)).status).toBe(200);
});

test('production without a gateway is a 502 too: nothing in production is simulated', async ({
  merchant,
}) => {
  const order = await merchant.production.create();
  const { status, html } = await post(`${order.payment_url}/sessions`);
  expect(status).toBe(502);
  expect(html).not.toContain('andbox');
});

test('for a suspended merchant no session opens, and an open one is no longer offered', async ({
  service,
}) => {
  const suspended = await service.newMerchant();
  const [fresh, waiting] = [
    await stageOf(service, suspended),
    await stageOf(service, suspended, WAYS.waiting),
  ];
  const gatewaySession = await gatewaySessionOf(waiting);
  await WAYS.merchant_unavailable(fresh);
  for (const stage of [fresh, waiting]) {
    const { status, html } = await pressPay(stage);
    expect([status, html.includes('upi://')]).toEqual([403, false]);
    expect(textOf(html)).toContain('Asha Textiles cannot take payments now.');
  }
  expect(await countSessions(service, fresh)).toBe(0);
  // What is captured counts all the same, and the buyer sees it.
  const pay = { vpa: 'success@razorpay' };
  await simulator(service, 'POST', `/qr_codes/${gatewaySession}/pay`, pay);
  await expect
    .poll(async () => textOf((await open(waiting.order.payment_url)).html), { timeout: 20_000 })
    .toContain('Payment successful');
});

test('the 21st session is refused in words', async ({ service, merchant }) => {
  const stage = await stageOf(service, merchant);
  const { order_number } = stage.order;
  await service.sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, state, expires_at)
    SELECT ${order_number} || number, ${order_number}, 'sandbox', 'CLOSED', service_now()
    FROM generate_series(1, 20) AS number`;
  const { status, html } = await pressPay(stage);
  expect(status).toBe(400);
  expect(textOf(html)).toContain('No further payment can be started for this order.');
});

test.for(['paid', 'closing', 'link_expired', 'completed', 'cancelled'] as const)(
  'the button of an old page leads to what has become of the order: %s',
  async (state, { service, merchant }) => {
    const stage = await stageOf(service, merchant, WAYS[state]);
    const before = await countSessions(service, stage);
    const { status, html } = await pressPay(stage);
    expect([status, html]).toEqual([200, (await open(stage.order.payment_url)).html]);
    expect(await countSessions(service, stage)).toBe(before);
  },
);

test('an order that is paid while the button is pressed shows that, and no refusal', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant);
  await using server = await serve({
    routes: checkoutRoutes({
      sql: service.sql,
      publicBaseUrl: service.origin,
      rateLimiter: createMemoryRateLimiter({ limitPerSecond: 100 }),
      lookAtSession: async () => undefined,
      async openSession() {
        await WAYS.paid(stage);
        throw errorOf('INVALID_STATE');
      },
      raiseDispute: async () => undefined,
    }),
  });
  const { pathname } = new URL(stage.order.payment_url);
  const { status, html } = await post(`${server.url}${pathname}/sessions`);
  expect([status, textOf(html).includes('Payment successful')]).toEqual([200, true]);
});

test('only a form of our own page opens a session', async ({ service, merchant }) => {
  const stage = await stageOf(service, merchant);
  const from = (headers: Record<string, string>) => pressPay(stage, { headers });
  expect((await from({ 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
  expect((await from({ Origin: 'https://evil.example' })).status).toBe(403);
  expect(await countSessions(service, stage)).toBe(0);
  const { origin } = new URL(stage.order.payment_url);
  expect((await from({ Origin: origin })).status).toBe(200);
});

test.for(['sessions', 'dispute'])(
  'whoever opens the address of a form gets the page: /%s',
  async (form, { service, merchant }) => {
    const { order } = await stageOf(service, merchant);
    const { status, url } = await open(`${order.payment_url}/${form}`);
    expect([status, url]).toEqual([200, order.payment_url]);
  },
);

test('a fault of ours is a page that tells the buyer what to do, and no more', async ({
  service,
  merchant,
}) => {
  const stage = await stageOf(service, merchant);
  await service.sql`ALTER FUNCTION reserve_payment_session RENAME TO away`;
  const { status, html, headers } = await pressPay(stage);
  await service.sql`ALTER FUNCTION away RENAME TO reserve_payment_session`;
  expect([status, headers.get('content-type')]).toEqual([500, 'text/html; charset=utf-8']);
  expect(textOf(html)).toContain('The fault is ours.');
  expect(html).not.toContain('reserve_payment_session');
});
