import { describe, expect } from 'vitest';
import type { CheckoutState } from '../../src/checkout/state.ts';
import { LANGUAGES } from '../../src/pages/language.ts';
import { open, post, textOf } from './buyer.ts';
import { checkoutTest } from './checkout-test.ts';
import { advance, checkoutIn, openSession, WAYS } from './states.ts';

const test = checkoutTest();

const STATES = Object.keys(WAYS) as CheckoutState[];

/** States in which the page has a form. */
const PAYS: readonly CheckoutState[] = ['payable', 'session_expired'];
const DISPUTES: readonly CheckoutState[] = ['paid', 'delivered'];

describe('the page of an order', () => {
  test.for(STATES)(
    'has the forms, the way back and the version of its state: %s',
    async (state, { service, merchant }) => {
      const own = state === 'merchant_unavailable' ? await service.newMerchant() : merchant;
      const returnUrl = 'https://shop.example.com/back?id=%207#top';
      const { order } = await checkoutIn(service, own, state, { returnUrl });
      const { status, html } = await open(order.payment_url);
      expect(status).toBe(state === 'session_expired' ? 408 : 200);
      expect(html.includes(`action="${new URL(order.payment_url).pathname}/sessions"`)).toBe(
        PAYS.includes(state),
      );
      expect(html.includes(`/dispute"`)).toBe(DISPUTES.includes(state));
      expect(html.includes('upi://pay')).toBe(state === 'waiting');
      const [row] = await service.sql<{ status: string }[]>`
        SELECT status FROM orders WHERE order_number = ${order.order_number}`;
      const added = `&amp;order_number=${order.order_number}&amp;status=${row?.status}`;
      expect(html).toContain(`href="https://shop.example.com/back?id=%207${added}#top"`);
      expect(textOf(html)).toContain('Back to shop.example.com');

      const answer = await fetch(`${order.payment_url}/status`);
      const answered: { state: string; version: string } = await answer.json();
      expect([answer.status, answered.state]).toEqual([200, state]);
      // A page without the script is kept current by its buyer.
      const isOver = state === 'refunded';
      expect(html.includes(`data-version="${answered.version}"`)).toBe(!isOver);
      expect(textOf(html).includes('Check again')).toBe(!isOver);
    },
  );

  test('has no way back if the merchant gave none, and one from a refused form', async ({
    checkouts,
  }) => {
    const { order } = await checkouts.in('paid');
    expect((await open(order.payment_url)).html).not.toContain('Back to');
    const { order: other } = await checkouts.in('paid', { returnUrl: 'http://localhost:3000' });
    const refused = await post(`${other.payment_url}/dispute`, { reason: 'No' });
    expect([refused.status, textOf(refused.html)]).toEqual([
      400,
      expect.stringContaining('Back to localhost:3000'),
    ]);
    const query = `?order_number=${other.order_number}&amp;status=PAID`;
    expect(refused.html).toContain(`href="http://localhost:3000/${query}"`);
  });

  test('shows amount, merchant, description and references, and escapes them all', async ({
    service,
  }) => {
    const shady = await service.newMerchant({ name: 'Bits & <b>Bytes</b>' });
    const { order } = await checkoutIn(service, shady, 'payable', {
      amount: 10_000,
      description: '"><script>alert(1)</script>',
      merchantOrderId: 'SHOP-1042',
    });
    const { html } = await open(order.payment_url);
    expect(html).not.toMatch(/<script>|<b>/);
    const text = textOf(html);
    expect(text).toContain('BB Bits & <b>Bytes</b> ₹10,000.00 "><script>alert(1)</script>');
    expect(text).toContain(`Reference SHOP-1042 Order ${order.order_number}`);
    expect(text).toContain('Questions about the order: owner@example.com');
    expect(html).toContain('href="mailto:owner@example.com?subject=SHOP-1042"');
  });

  test('shows no personal data of the buyer in any state, and has none in its URL', async ({
    checkouts,
  }) => {
    const { order } = await checkouts.in('disputed', { buyerName: 'Asha Rao' });
    const { html, url } = await open(order.payment_url);
    expect(url).toMatch(/\/pay\/[A-Za-z0-9_-]{32}$/);
    expect(html).not.toMatch(/asha@example\.com|9876543210|Asha Rao/);
  });

  test('distinguishes the sandbox from production, which has no link to the simulator', async ({
    merchant,
    checkouts,
  }) => {
    const played = await checkouts.in('waiting');
    expect(textOf((await open(played.order.payment_url)).html)).toMatch(
      /^Sandbox : no real money moves here\..*Pay in the sandbox UPI app/,
    );
    const order = await merchant.production.create();
    const { html } = await open(order.payment_url);
    expect(textOf(html)).not.toContain('andbox');
  });

  test('opens the UPI app with exactly the gateway’s payment link, and draws it as a QR code', async ({
    checkouts,
  }) => {
    const { order } = await checkouts.in('waiting');
    const { html } = await open(order.payment_url);
    const { href = '' } = /href="(?<href>upi:[^"]+)"/.exec(html)?.groups ?? {};
    const { searchParams } = new URL(href.replaceAll('&amp;', '&'));
    expect([searchParams.get('am'), searchParams.get('cu')]).toEqual(['499.50', 'INR']);
    expect(html).toMatch(/<svg class="qr" [^>]*role="img" aria-label="QR code to pay/);
    const query = href.slice('upi://pay?'.length);
    for (const start of ['phonepe://pay?', 'tez://upi/pay?', 'paytmmp://pay?']) {
      expect(html).toContain(`href="${start}${query}"`);
    }
  });

  test('does not link an address that is not a UPI payment link', async ({
    service,
    checkouts,
  }) => {
    const { order } = await checkouts.in('waiting');
    await service.sql`UPDATE payment_sessions
      SET upi_intent = 'javascript:alert(1)', page_url = 'data:text/html,x'
      WHERE order_number = ${order.order_number}`;
    const { html } = await open(order.payment_url);
    expect(html).not.toMatch(/javascript:|data:text/);
  });

  test('counts the remaining time by the clock of the deadlines', async ({
    service,
    checkouts,
  }) => {
    const checkout = await checkouts.in('waiting');
    await advance(checkout, 14 * 60);
    const secondsLeft = async () => {
      const [row] = await service.sql<[{ seconds: number }]>`
        SELECT extract(epoch FROM expires_at - service_now())::float8 AS seconds
        FROM payment_sessions WHERE order_number = ${checkout.order.order_number}`;
      return row.seconds;
    };
    const before = await secondsLeft();
    expect(before).toBeLessThanOrEqual(60);
    const { html } = await open(checkout.order.payment_url);
    const [, left] = /data-seconds-left="(\d+)"/.exec(html) ?? [];
    expect(Number(left)).toBeLessThanOrEqual(Math.ceil(before));
    expect(Number(left)).toBeGreaterThanOrEqual(Math.floor(await secondsLeft()));
  });

  test('shows that a payment has failed, and still allows another one', async ({ checkouts }) => {
    const { order } = await checkouts.in('failed_attempt');
    const { html } = await open(order.payment_url);
    expect(textOf(html)).toContain('Your last payment did not go through. You can try again.');
    expect(html).toContain('upi://pay');
  });

  test('shows the steps of the order since its payment, and the next one', async ({
    checkouts,
  }) => {
    const { order } = await checkouts.in('under_review');
    const text = textOf((await open(order.payment_url)).html);
    expect(text).toMatch(
      /Paid \d.* IST Delivered \d.* IST Tracking ID: SPEEDPOST-4711 Dispute raised \d.* IST Answer from the merchant \d.* IST Decision/,
    );
    expect(text).toContain('your case is under review');
    expect(text).toContain('What you wrote The kurta has a hole. I want my money back.');
    expect(text).toContain('Answer from the merchant It left our shop without a hole');
  });

  test('shows the refund of money that the order could not take', async ({
    service,
    checkouts,
  }) => {
    const { order } = await checkouts.in('late_payment');
    const refunded = textOf((await open(order.payment_url)).html);
    expect(refunded).toContain('A payment of ₹499.50 came after this order was cancelled. It was');
    expect(refunded).not.toContain('Nothing was charged');
    await service.sql`UPDATE surplus_refunds SET processed_at = NULL
      WHERE order_number = ${order.order_number}`;
    const { html } = await open(order.payment_url);
    expect(textOf(html)).toContain('It is being sent back to you in full.');
  });

  test('changes its version when it looks different, and only then', async ({ checkouts }) => {
    const checkout = await checkouts.in();
    const version = async () => {
      const answer = await fetch(`${checkout.order.payment_url}/status`);
      return ((await answer.json()) as { version: string }).version;
    };
    const before = await version();
    expect(await version()).toBe(before);
    await openSession(checkout);
    const waiting = await version();
    expect(waiting).not.toBe(before);
    await advance(checkout, 900);
    expect(await version()).not.toBe(waiting);
  });
});

describe('around the page', () => {
  const unknown = ['', '/status', '/sessions', '/dispute'];
  test.for(unknown)('an unknown link is a 404: /pay/{token}%s', async (path, { merchant }) => {
    const { origin } = new URL((await merchant.sandbox.create()).payment_url);
    const url = `${origin}/pay/${'x'.repeat(32)}${path}`;
    const { status, html, headers } = await open(url);
    expect(status).toBe(404);
    expect(html).toContain(path === '/status' ? '"Not found"' : 'Payment page not found');
    // A buyer who asks for help can quote the request id.
    const id = headers.get('X-Request-Id') ?? '';
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    if (path === '/status') return;
    expect(textOf(html)).toContain(`Reference for support: ${id}`);
    expect(textOf(html)).toContain('write to help@pay.example with this reference');
  });

  test('allows only its own files, and does not disclose its URL', async ({ checkouts }) => {
    const { order } = await checkouts.in('waiting');
    const { html, headers } = await open(order.payment_url);
    expect(Object.fromEntries(headers)).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; " +
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'content-type': 'text/html; charset=utf-8',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(headers.has('set-cookie')).toBe(false);
    expect(html).not.toMatch(/<style| style=| on[a-z]+=|<script(?! src="\/pay\/files\/)/);
  });

  test.for(LANGUAGES)(
    'is small: everything together below 30 KB, its script below 10 KB: %s',
    async (language, { checkouts }) => {
      const description = 'Kurta, '.repeat(4000);
      const { order } = await checkouts.in('waiting', { description });
      const { html } = await open(`${order.payment_url}?language=${language}`);
      const paths = [...html.matchAll(/(?:href|src)="(\/(?:pay\/)?files\/[^"]+)"/g)].map(
        ([, path]) => path ?? '',
      );
      const files = await Promise.all(
        paths.map(async (path) => (await open(new URL(path, order.payment_url).href)).html),
      );
      const bytes = [html, ...files].map((text) => Buffer.byteLength(text));
      expect(paths).toHaveLength(3);
      expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(30_000);
      expect(bytes[paths.findIndex((path) => path.endsWith('.js')) + 1]).toBeLessThan(10_000);
    },
  );
});
