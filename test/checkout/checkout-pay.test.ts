import { expect } from 'vitest';
import { checkoutRoutes } from '../../src/checkout/routes.ts';
import { errorOf } from '../../src/http/responses/errors.ts';
import { createMemoryRateLimiter } from '../../src/http/limits/rate-limit.ts';
import { serve } from '../api/http-support.ts';
import { simulator } from '../support/gateway.ts';
import { open, post, textOf } from './buyer.ts';
import { checkoutTest } from './checkout-test.ts';
import type { Checkout } from './states.ts';
import { checkoutIn, gatewaySessionOf, WAYS } from './states.ts';

const test = checkoutTest();

const pressPay = ({ order }: Checkout, init: RequestInit = {}) =>
  post(`${order.payment_url}/sessions`, {}, init);

const countSessions = async ({ service, order }: Checkout) => {
  const rows = await service.sql`SELECT FROM payment_sessions
    WHERE order_number = ${order.order_number}`;
  return rows.length;
};

test('the form responds 303, so that a reload does not send it again', async ({ checkouts }) => {
  const checkout = await checkouts.in();
  const { status, headers } = await pressPay(checkout, { redirect: 'manual' });
  const { pathname } = new URL(checkout.order.payment_url);
  expect([status, headers.get('location')]).toEqual([303, pathname]);
});

test('pressing twice opens one session', async ({ checkouts }) => {
  const checkout = await checkouts.in();
  const pages = await Promise.all([pressPay(checkout), pressPay(checkout), pressPay(checkout)]);
  expect(pages.map(({ status }) => status)).toEqual([200, 200, 200]);
  await pressPay(checkout);
  expect(await countSessions(checkout)).toBe(1);
});

test('after an expired session the button opens a new one, and the order is still ACCEPTED', async ({
  merchant,
  checkouts,
}) => {
  const checkout = await checkouts.in('session_expired');
  expect((await open(checkout.order.payment_url)).status).toBe(408);
  const { body } = await merchant.sandbox.get(`/orders/${checkout.order.order_number}`);
  expect(body.data.status).toBe('ACCEPTED');
  const again = await pressPay(checkout);
  expect([again.status, textOf(again.html).includes('Waiting for your payment')]).toEqual([
    200,
    true,
  ]);
  expect(await countSessions(checkout)).toBe(2);
});

test('while the gateway is unavailable the page says so with 502, and the button stays', async ({
  gateway,
  checkouts,
}) => {
  const checkout = await checkouts.in();
  await gateway.addFault({ kind: 'error', method: 'POST' });
  const { status, html, headers } = await pressPay(checkout);
  expect(status).toBe(502);
  expect(textOf(html)).toContain('The UPI payment system cannot be reached at the moment.');
  expect(textOf(html)).toContain(`Reference for support: ${headers.get('X-Request-Id')}`);
  expect(textOf(html)).toContain('write to help@pay.example with this reference');
  expect(html).toMatch(/role="alert"/);
  expect(html).toContain('/sessions"');
  await gateway.endFaults();
  expect((await pressPay(checkout)).status).toBe(200);
});

test('production without a gateway has no button to pay, and an operator gets an alert: nothing in production is simulated', async ({
  service,
  merchant,
}) => {
  const order = await merchant.production.create();
  const page = await open(order.payment_url);
  expect([page.status, page.html.includes('<button')]).toEqual([200, false]);
  expect(textOf(page.html)).toContain('Payment is not possible at the moment');
  const alerts = await service.sql`SELECT FROM alerts WHERE kind = 'no_gateway'
    AND cleared_at IS NULL AND details->>'orderNumber' = ${order.order_number}`;
  expect(alerts).toHaveLength(1);
  const { status, html } = await post(`${order.payment_url}/sessions`);
  expect(status).toBe(403);
  expect(html).not.toContain('andbox');
});

test('for a suspended merchant no session is opened, and an open one is no longer offered', async ({
  service,
}) => {
  const suspended = await service.newMerchant();
  const [fresh, waiting] = [
    await checkoutIn(service, suspended),
    await checkoutIn(service, suspended, 'waiting'),
  ];
  const gatewaySession = await gatewaySessionOf(waiting);
  await WAYS.merchant_unavailable(fresh);
  for (const checkout of [fresh, waiting]) {
    const { status, html } = await pressPay(checkout);
    expect([status, html.includes('upi://')]).toEqual([403, false]);
    expect(textOf(html)).toContain('Asha Textiles cannot take payments now.');
  }
  expect(await countSessions(fresh)).toBe(0);
  // A capture still counts, and the buyer sees it.
  const pay = { vpa: 'success@razorpay' };
  await simulator(service, 'POST', `/qr_codes/${gatewaySession}/pay`, pay);
  await expect
    .poll(async () => textOf((await open(waiting.order.payment_url)).html))
    .toContain('Payment successful');
});

test('the 21st session is refused with an explanation', async ({ service, checkouts }) => {
  const checkout = await checkouts.in();
  const { order_number } = checkout.order;
  await service.sql`
    INSERT INTO payment_sessions (session_id, order_number, environment, gateway, state, expires_at)
    SELECT ${order_number} || number, ${order_number}, 'sandbox', 'razorpay', 'CLOSED', service_now()
    FROM generate_series(1, 20) AS number`;
  const { status, html } = await pressPay(checkout);
  expect(status).toBe(400);
  expect(textOf(html)).toContain('No further payment can be started for this order.');
});

test.for(['paid', 'closing', 'link_expired', 'completed', 'cancelled'] as const)(
  'the button of an outdated page leads to the current state of the order: %s',
  async (state, { checkouts }) => {
    const checkout = await checkouts.in(state);
    const before = await countSessions(checkout);
    const { status, html } = await pressPay(checkout);
    expect([status, html]).toEqual([200, (await open(checkout.order.payment_url)).html]);
    expect(await countSessions(checkout)).toBe(before);
  },
);

test('an order that is paid while the button is pressed shows the payment and no refusal', async ({
  service,
  checkouts,
}) => {
  const checkout = await checkouts.in();
  await using server = await serve({
    routes: checkoutRoutes({
      sql: service.sql,
      publicBaseUrl: service.origin,
      supportEmail: undefined,
      rateLimiter: createMemoryRateLimiter({ limitPerSecond: 100 }),
      hasGateway: async () => true,
      refreshSession: async () => undefined,
      async openSession() {
        await WAYS.paid(checkout);
        throw errorOf('INVALID_STATE');
      },
      raiseDispute: async () => undefined,
    }),
  });
  const { pathname } = new URL(checkout.order.payment_url);
  const { status, html } = await post(`${server.url}${pathname}/sessions`);
  expect([status, textOf(html).includes('Payment successful')]).toEqual([200, true]);
});

test('only a form of the service’s own page opens a session', async ({ checkouts }) => {
  const checkout = await checkouts.in();
  const from = (headers: Record<string, string>) => pressPay(checkout, { headers });
  expect((await from({ 'Sec-Fetch-Site': 'cross-site' })).status).toBe(403);
  expect((await from({ Origin: 'https://evil.example' })).status).toBe(403);
  expect(await countSessions(checkout)).toBe(0);
  const { origin } = new URL(checkout.order.payment_url);
  expect((await from({ Origin: origin })).status).toBe(200);
});

test.for(['sessions', 'dispute'])(
  'opening the URL of a form shows the page: /%s',
  async (form, { checkouts }) => {
    const { order } = await checkouts.in();
    const { status, url } = await open(`${order.payment_url}/${form}`);
    expect([status, url]).toEqual([200, order.payment_url]);
  },
);

test('a server error is a page that only tells the buyer what to do', async ({
  service,
  checkouts,
}) => {
  const checkout = await checkouts.in();
  await service.sql`ALTER FUNCTION reserve_payment_session RENAME TO away`;
  const { status, html, headers } = await pressPay(checkout);
  await service.sql`ALTER FUNCTION away RENAME TO reserve_payment_session`;
  expect([status, headers.get('content-type')]).toEqual([500, 'text/html; charset=utf-8']);
  expect(textOf(html)).toContain('The fault is ours.');
  expect(html).not.toContain('reserve_payment_session');
});
