import { describe, expect } from 'vitest';
import { HOLDING_STATUSES } from '../../src/domain/index.ts';
import { changeMerchantStatus } from '../../src/merchants/commands.ts';
import { rupeesText } from '../../src/pages/format.ts';
import { TEST_ACTOR } from '../support/actor.ts';
import { merchantUser } from '../support/users.ts';
import type { Visit } from './browsing.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const test = dashboardTest({ time: 'real', merchant: { webhooks: true } }).extend(
  'rival',
  { scope: 'file' },
  async ({ service }) => {
    const rival = await service.newMerchant({ name: 'Rival' });
    return rival.sandbox.create({ merchantOrderId: 'RIVAL-1' });
  },
);

const MAX_BYTES = 50_000;
const listOf = (query = '') => `/dashboard/sandbox/orders${query}`;
const pageOf = (orderNumber: string, below = '') =>
  `/dashboard/sandbox/orders/${orderNumber}${below}`;

function textOf({ body }: Visit): string {
  return body
    .replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, '')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('\u00A0', ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'");
}

/** The forms of a page by their actions, with the values that they would send. */
function formOf({ body }: Visit, action: string): Record<string, string> {
  const form = new RegExp(`<form[^>]*/${action}"[\\s\\S]*?</form>`).exec(body)?.[0];
  if (form === undefined) throw new Error(`The page has no form for ${action}`);
  const inputs = form.matchAll(/<(?:input|textarea)[^>]*name="([^"]+)"(?:[^>]*value="([^"]*)")?/g);
  return Object.fromEntries(Array.from(inputs, ([, name = '', value = '']) => [name, value]));
}

/** The same fields, those of the action filled in. */
function filled(fields: Record<string, string>, values: Record<string, string>) {
  const entries = Object.entries(fields).map(([name, value]) => {
    const own = name.slice(name.lastIndexOf('-') + 1);
    return [name, values[own] ?? value] as const;
  });
  return Object.fromEntries(entries);
}

describe('the list of orders', () => {
  test('finds an order by everything that identifies it, and nothing of another merchant', async ({
    owner,
    merchant,
    rival,
  }) => {
    const order = await merchant.sandbox.create({
      merchantOrderId: 'FIND-1',
      buyerEmail: 'finder@example.com',
      buyerPhone: '+919812345678',
    });
    await merchant.sandbox.create({ merchantOrderId: 'OTHER-1' });
    await merchant.sandbox.help(order, 'pay');
    const utr = (await merchant.sandbox.read(order)).payment?.utr ?? '';
    expect(utr).not.toBe('');
    for (const text of [order.order_number, 'FIND-1', 'FINDER@example.com', '98123 45678', utr]) {
      const page = await owner.get(listOf(`?q=${encodeURIComponent(text)}`));
      expect(page.status).toBe(200);
      expect([page.body.includes('FIND-1'), page.body.includes('OTHER-1')]).toEqual([true, false]);
    }
    for (const text of [rival.order_number, 'RIVAL-1']) {
      expect(textOf(await owner.get(listOf(`?q=${text}`)))).toContain('No order matches.');
    }
  });

  test('is shown in pages of 25, 50 or 100, each with its number and its filter', async ({
    owner,
    orders,
  }) => {
    for (let index = 0; index < 30; index += 1) {
      await orders.write({ merchantOrderId: 'PART', environment: 'production' });
    }
    const first = await owner.get('/dashboard/production/orders?q=PART&status=ACCEPTED');
    const older = /href="([^"]+)" rel="next"/.exec(first.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(older).toContain('status=ACCEPTED');
    const second = await owner.get(older);
    const numbersOf = ({ body }: Visit) => [
      ...new Set(Array.from(body.matchAll(/orders\/(ORD\w+)/g), ([, number]) => number)),
    ];
    expect([numbersOf(first).length, numbersOf(second).length]).toEqual([25, 5]);
    expect(new Set([...numbersOf(first), ...numbersOf(second)]).size).toBe(30);
    expect(second.body).not.toContain('rel="next"');
    expect([textOf(first), textOf(second)]).toEqual([
      expect.stringContaining('1–25 of 30'),
      expect.stringContaining('26–30 of 30'),
    ]);
    const all = await owner.get('/dashboard/production/orders?q=PART&size=50');
    expect([numbersOf(all).length, textOf(all).includes('1–30 of 30')]).toEqual([30, true]);
    const beyond = await owner.get('/dashboard/production/orders?q=PART&page=9');
    expect(textOf(beyond)).toContain('There is nothing on this page.');
    expect(beyond.body).toMatch(/page=2" rel="prev"/);
    expect(Buffer.byteLength(first.body)).toBeLessThan(MAX_BYTES);
  });

  test('has quick filters with their counts, is sorted by time and amount, and adds the amounts up', async ({
    service,
  }) => {
    const shop = await service.newMerchant({ webhooks: false });
    const browser = browserOf(service.origin, await merchantUser(service.sql, shop.merchantId));
    for (const [merchantOrderId, amount] of [
      ['SORT-A', 300],
      ['SORT-B', 100],
      ['SORT-C', 200],
    ] as const) {
      const order = await shop.sandbox.create({ merchantOrderId, amount });
      if (merchantOrderId === 'SORT-A') await shop.sandbox.help(order, 'pay');
    }
    const shown = async (query: string) => {
      const page = await browser.get(listOf(query));
      const ids = Array.from(page.body.matchAll(/>(SORT-\w)</g), ([, id]) => id);
      return { page, ids };
    };
    const { page, ids } = await shown('');
    expect(ids).toEqual(['SORT-C', 'SORT-B', 'SORT-A']);
    expect(page.body).toMatch(
      /<time [^>]*title="\w+,? \d+ \w+,? 20\d\d at [^"]+\sIST"[^>]*>\d+ \w+, \d+:\d\d\s[ap]m<\/time>/,
    );
    expect(page.body).toMatch(/aria-sort="descending"[^>]*><a[^>]*sort=oldest[^>]*>Created/);
    const text = textOf(page);
    for (const chip of ['All 3', 'Waiting for payment 2', 'To deliver 1', 'Completed 0']) {
      expect(text).toContain(chip);
    }
    expect(text).toContain(`Total${rupeesText(60_000)}`);
    expect((await shown('?sort=oldest')).ids).toEqual(['SORT-A', 'SORT-B', 'SORT-C']);
    expect((await shown('?sort=largest')).ids).toEqual(['SORT-A', 'SORT-C', 'SORT-B']);
    expect((await shown('?sort=smallest')).ids).toEqual(['SORT-B', 'SORT-C', 'SORT-A']);
    const waiting = await shown('?status=ACCEPTED&sort=largest');
    expect(waiting.ids).toEqual(['SORT-C', 'SORT-B']);
    expect(waiting.page.body).toMatch(/<a [^>]*aria-current="page"[^>]*>Waiting for payment 2</);
    expect(textOf(waiting.page)).toContain(`Total${rupeesText(30_000)}`);
    // A search for a text keeps the filter and has no counts.
    const found = await shown('?status=ACCEPTED&q=SORT-B');
    expect(found.page.body).toMatch(/<input type="hidden" name="status" value="ACCEPTED"/);
    expect(textOf(found.page)).not.toContain('All 3');
  });

  test('names a status that is none', async ({ owner }) => {
    const page = await owner.get(listOf('?status=LOST'));
    expect([page.status, textOf(page).includes('must be an order status')]).toEqual([400, true]);
  });

  test('names an invalid day, and keeps what was typed', async ({ owner }) => {
    const page = await owner.get(listOf('?q=FIND-1&from=2026-99-01'));
    expect(page.status).toBe(400);
    expect(textOf(page)).toContain('must be a day such as 2026-11-22');
    expect(page.body).toContain('value="FIND-1"');
  });

  test('is saved as CSV with the same filter, and no formula in it', async ({
    owner,
    merchant,
  }) => {
    await merchant.sandbox.create({ merchantOrderId: 'CSV-1', description: '=1+1' });
    const file = await owner.get('/dashboard/sandbox/orders.csv?q=CSV-1');
    expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(file.headers.get('content-disposition')).toMatch(
      /^attachment; filename="orders-sandbox-\d{4}-\d\d-\d\d\.csv"$/,
    );
    const rows = file.body.trim().split('\r\n');
    expect(rows).toHaveLength(2);
    expect(rows[1]).toContain(`,"=""CSV-1""",ACCEPTED,499.50,'=1+1,`);
  });
});

describe('the page of an order', () => {
  test('says what the order waits for, and shows its payment, money, timeline and webhooks', async ({
    owner,
    merchant,
  }) => {
    const order = await merchant.sandbox.create({ merchantOrderId: 'SHOW-1' });
    await merchant.sandbox.help(order, 'pay');
    await merchant.sandbox.command(order, 'deliver', { trackingId: 'TRK-77' });
    const page = await owner.get(pageOf(order.order_number));
    expect(page.status).toBe(200);
    const text = textOf(page);
    expect(text).toMatch(
      /Delivered\. If the buyer raises no dispute by [^(]+IST \(in \d+ hours\), it completes and ₹499\.50 is released to you\./,
    );
    expect(text).toContain('TRK-77');
    expect(text).toContain('Paid by the buyer');
    expect(page.body).toMatch(
      /href="\/dashboard\/sandbox\/deliveries\/[^"]+">Webhook PAYMENT_SUCCESS/,
    );
    expect(page.body).toContain(order.payment_url);
    expect(Buffer.byteLength(page.body)).toBeLessThan(MAX_BYTES);
  });

  test('changes its version when the order does, and only then', async ({ owner, merchant }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    const versionOf = async () => (await owner.get(pageOf(order.order_number, '/version'))).body;
    const page = await owner.get(pageOf(order.order_number));
    const shown = /data-version="([^"]+)"/.exec(page.body)?.[1];
    await merchant.sandbox.command(order, 'deliver');
    expect(JSON.parse(await versionOf())).toEqual({ version: expect.not.stringMatching(shown!) });
  });

  test('texts of buyers and merchants are shown as they were written, never as markup', async ({
    owner,
    merchant,
  }) => {
    const order = await merchant.sandbox.create({ description: '<img src=x onerror=alert(1)>' });
    await merchant.sandbox.help(order, 'pay');
    await merchant.sandbox.help(order, 'dispute', { reason: '</p><script>alert(1)</script>' });
    for (const path of [pageOf(order.order_number), listOf(), '/dashboard/sandbox/disputes']) {
      const { body } = await owner.get(path);
      expect(body).not.toContain('<img src=x');
      expect(body).not.toContain('<script>alert');
    }
  });
});

describe('an action on an order', () => {
  test('is carried out once, also by a double click, and the page then says so', async ({
    owner,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    await merchant.sandbox.help(order, 'pay');
    const path = pageOf(order.order_number);
    const fields = filled(formOf(await owner.get(path), 'deliverOrder'), { trackingId: 'TRK-1' });
    const answers = await Promise.all([
      owner.post(`${path}/deliverOrder`, fields),
      owner.post(`${path}/deliverOrder`, fields),
    ]);
    expect(answers.map(({ status, location }) => [status, location])).toEqual([
      [303, `${path}?done=deliverOrder`],
      [303, `${path}?done=deliverOrder`],
    ]);
    const { entries } = await merchant.sandbox.timeline(order);
    expect(entries.filter(({ kind }) => kind === 'DELIVERY_CONFIRMED')).toEqual([
      expect.objectContaining({ details: { trackingId: 'TRK-1' } }),
    ]);
    expect(textOf(await owner.get(`${path}?done=deliverOrder`))).toContain(
      'Done: Mark as delivered.',
    );
  });

  test('that returns money asks first: how much, to whom, and that it cannot be undone', async ({
    owner,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const path = pageOf(order.order_number);
    await merchant.sandbox.help(order, 'pay');
    const fields = filled(formOf(await owner.get(path), 'refundOrder'), { reason: 'Sold out' });
    const question = await owner.post(`${path}/refundOrder`, fields);
    expect(question.status).toBe(200);
    expect(textOf(question)).toMatch(/Refund the buyer\?.*₹499\.50.*To.*This cannot be undone\./s);
    expect((await merchant.sandbox.read(order)).status).toBe('PAID');
    const again = formOf(question, 'refundOrder');
    expect(again).toEqual({ ...fields, confirmed: 'yes' });
    const answer = await owner.post(`${path}/refundOrder`, again);
    expect([answer.status, answer.location]).toEqual([303, `${path}?done=refundOrder`]);
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
  });

  test("is refused in the API's words, with what was typed", async ({ owner, merchant }) => {
    const order = await merchant.sandbox.create();
    const path = pageOf(order.order_number);
    await merchant.sandbox.help(order, 'pay');
    const refund = formOf(await owner.get(path), 'refundOrder');
    const blank = await owner.post(`${path}/refundOrder`, filled(refund, { reason: '  ' }));
    expect(blank.status).toBe(400);
    expect(textOf(blank)).toContain('must be 1 to 1000 characters and not blank');
    expect(formOf(blank, 'refundOrder')['idempotencyKey']).toBe(refund['idempotencyKey']);

    const long = 'x'.repeat(1001);
    const tooLong = await owner.post(`${path}/refundOrder`, filled(refund, { reason: long }));
    expect(tooLong.body).toContain(long);

    await merchant.sandbox.command(order, 'refund', { reason: 'Sold out' });
    await merchant.sandbox.untilStatus(order, 'REFUNDED');
    const late = await owner.post(`${path}/refundOrder`, filled(refund, { reason: 'Gone' }));
    expect(late.status).toBe(400);
    const api = await merchant.sandbox.command(order, 'refund', { reason: 'Gone' });
    expect(textOf(late)).toContain(api.body.message);
  });

  test('of the sandbox acts as the buyer; production has no such action', async ({
    owner,
    orders,
  }) => {
    const inProduction = await orders.write({ environment: 'production' });
    const path = `/dashboard/production/orders/${inProduction.orderNumber}`;
    expect((await owner.get(path)).body).not.toContain('Pay as the buyer');
    expect((await owner.post(`${path}/testPay`, { idempotencyKey: 'k' })).status).toBe(404);
  });

  test('leads through a whole order without the API: paid, delivered, disputed, answered', async ({
    owner,
    merchant,
  }) => {
    const order = await merchant.sandbox.create();
    const path = pageOf(order.order_number);
    const act = async (action: string, values: Record<string, string> = {}) => {
      const fields = filled(formOf(await owner.get(path), action), values);
      expect((await owner.post(`${path}/${action}`, fields)).status).toBe(303);
    };
    await act('testFailPayment');
    await act('testPay');
    await act('deliverOrder');
    await act('testDispute', { reason: 'It never arrived at all' });
    const disputes = await owner.get('/dashboard/sandbox/disputes');
    expect(textOf(disputes)).toContain('It never arrived at all');
    const unanswered = '/dashboard/sandbox/disputes?list=unanswered';
    const reviewed = '/dashboard/sandbox/disputes?list=underReview';
    expect((await owner.get(unanswered)).body).toContain(order.order_number);
    expect((await owner.get(reviewed)).body).not.toContain(order.order_number);
    const evidence = filled(formOf(disputes, `${order.order_number}/submitEvidence`), {
      text: 'The courier has a signature',
    });
    expect((await owner.post(`${path}/submitEvidence`, evidence)).status).toBe(303);
    expect((await owner.get(unanswered)).body).not.toContain(order.order_number);
    expect((await owner.get(reviewed)).body).toContain(order.order_number);
    await act('resolveDispute', { resolution: 'Found at the neighbour' });
    expect((await merchant.sandbox.read(order)).status).toBe('DELIVERED');
    const ended = textOf(await owner.get('/dashboard/sandbox/disputes?list=ended'));
    for (const text of [
      'It never arrived at all',
      'The courier has a signature',
      'Found at the neighbour',
    ]) {
      expect(ended).toContain(text);
    }
    await act('testAdvance');
    await merchant.sandbox.untilStatus(order, 'COMPLETED');
    expect(textOf(await owner.get(path))).toContain('₹499.50 is released to you');
  });

  test('is refused while the merchant is suspended, and not offered', async ({ service, cli }) => {
    const shop = await service.newMerchant({ name: 'Suspended' });
    const order = await shop.sandbox.create();
    const browser = browserOf(service.origin, await merchantUser(service.sql, shop.merchantId));
    const path = pageOf(order.order_number);
    const fields = formOf(await browser.get(path), 'cancelOrder');
    await cli.json('merchant', 'suspend', '--merchant', shop.merchantId, '--reason', 'A test');
    expect((await browser.get(path)).body).not.toContain('cancelOrder');
    const { status, body } = await browser.post(`${path}/cancelOrder`, fields);
    expect(status).toBe(403);
    expect(body).toContain('Merchant account is not active');
    expect(textOf(await browser.get('/dashboard/sandbox'))).toContain('Your account is suspended');
  });

  test.for([
    ['is suspended', 'suspend'],
    ['was approved once, and that is revoked', 'reject'],
  ] as const)('answers a dispute also while the merchant %s', async ([, decision], { service }) => {
    const shop = await service.newMerchant({ name: `Dispute and ${decision}` });
    const order = await shop.sandbox.create();
    await shop.sandbox.help(order, 'pay');
    await shop.sandbox.help(order, 'dispute', { reason: 'It never arrived at all' });
    const browser = browserOf(service.origin, await merchantUser(service.sql, shop.merchantId));
    const admin = { sql: service.sql, actor: TEST_ACTOR };
    await changeMerchantStatus(admin, shop.merchantId, decision, { reason: 'A test' });
    const path = pageOf(order.order_number);
    const page = await browser.get(path);
    expect(page.body).not.toContain('deliverOrder');
    const evidence = filled(formOf(page, 'submitEvidence'), {
      text: 'The courier has a signature',
    });
    expect((await browser.post(`${path}/submitEvidence`, evidence)).status).toBe(303);
    const resolution = filled(formOf(await browser.get(path), 'resolveDispute'), {
      resolution: 'Found at the neighbour',
    });
    expect((await browser.post(`${path}/resolveDispute`, resolution)).status).toBe(303);
    const [row] = await service.sql<{ status: string }[]>`
      SELECT status FROM orders WHERE order_number = ${order.order_number}`;
    expect(row?.status).toBe('DELIVERED');
    const answer = await shop.sandbox.get(`/orders/${order.order_number}`);
    expect([answer.status, answer.body.message]).toEqual([403, 'Merchant account is not active']);
  });
});

describe('the home page', () => {
  test('lists what waits for the merchant by deadline, the money, and the orders of 30 days', async ({
    owner,
    merchant,
    service,
  }) => {
    const order = await merchant.sandbox.create({ merchantOrderId: 'HOME-1' });
    await merchant.sandbox.help(order, 'pay');
    await merchant.sandbox.help(order, 'dispute', { reason: 'It never arrived at all' });
    const page = await owner.get('/dashboard/sandbox');
    expect(page.status).toBe(200);
    const text = textOf(page);
    expect(text).toMatch(/Answer the dispute of ₹499\.50 on order HOME-1 by [^(]+\(in 3 days\)/);
    const [held] = await service.sql<{ paise: number }[]>`
      SELECT sum(amount_paise)::bigint AS paise FROM orders
      WHERE merchant_id = ${merchant.merchantId} AND environment = 'sandbox'
        AND status = ANY(${HOLDING_STATUSES})`;
    expect(text).toContain(`Held now${rupeesText(held!.paise)}`);
    for (const series of ['paid', 'completed', 'refunded']) {
      expect(page.body).toContain(
        `aria-labelledby="${series}-plot-title ${series}-plot-description"`,
      );
    }
    expect(text).toMatch(
      /Orders by the day of their creation and by outcome\d+ orders: completed \d+/,
    );
    expect(page.body).not.toContain('style=');
    expect(Buffer.byteLength(page.body)).toBeLessThan(MAX_BYTES);
  });

  test('asks a new merchant to finish the application', async ({ service }) => {
    const { merchantId } = await service.newMerchant({ name: 'New', webhooks: false });
    await service.sql`UPDATE merchants SET status = 'PENDING' WHERE merchant_id = ${merchantId}`;
    const browser = browserOf(service.origin, await merchantUser(service.sql, merchantId));
    const page = await browser.get('/dashboard/sandbox');
    expect(page.body).toContain('href="/dashboard/sandbox/onboarding">Finish your application');
    expect(textOf(page)).toContain('There were no orders.');
  });
});
