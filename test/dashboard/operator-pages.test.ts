import { expect } from 'vitest';
import { proveLedger } from '../../src/ledger/proofs.ts';
import { propose } from '../../src/proposals/public.ts';
import { aProposer } from '../support/proposals.ts';
import { startApiWithSilentTemporal } from '../support/silent-temporal.ts';
import { until } from '../support/until.ts';
import { operatorUser } from '../support/users.ts';
import { browserOf } from './browsing.ts';
import { dashboardTest } from './dashboard-test.ts';

const PAGES = [
  '/operator',
  '/operator/alerts',
  '/operator/orders',
  '/operator/disputes',
  '/operator/ledger',
  '/operator/audit',
  '/operator/audit.csv',
];

const test = dashboardTest({
  time: 'real',
  callbacks: false,
  merchant: { webhooks: false },
  settings: { TEMPORAL_UI_URL: 'http://temporal.example:8233' },
});

test.for(PAGES)('%s is for every operator', async (path, { operators }) => {
  for (const browser of Object.values(operators))
    expect((await browser.get(path)).status).toBe(200);
});

test('orders of all merchants are found by any of their texts, in pages', async ({
  service,
  operators,
  orders,
}) => {
  const buyer = { buyerEmail: 'Search.Me@example.com' };
  const written = [];
  for (let count = 0; count < 27; count += 1) written.push(await orders.write(buyer));
  const other = await service.newMerchant({ webhooks: false });
  const numbersIn = (body: string) =>
    [...new Set(body.match(/\/operator\/orders\/(ORD[0-9A-Z]{26})/g))].map((path) =>
      path.slice(17),
    );
  const numbers = written.map(({ orderNumber }) => orderNumber).toSorted();
  // Of orders of one millisecond, neither their times nor their numbers say which is newer.
  await service.sql`
    UPDATE orders SET created_at = now() - interval '1 hour' + place * interval '1 second'
    FROM unnest(${numbers}::text[]) WITH ORDINALITY AS sorted (number, place)
    WHERE order_number = number`;
  const newestFirst = numbers.toReversed();

  const first = await operators.support.get('/operator/orders?text=search.me@example.com');
  expect(numbersIn(first.body)).toEqual(newestFirst.slice(0, 25));
  const next = /href="([^"]*page=[^"]*)" rel="next"/.exec(first.body)?.[1] ?? '';
  const second = await operators.support.get(next.replaceAll('&amp;', '&'));
  expect(numbersIn(second.body)).toEqual(newestFirst.slice(25));

  const number = newestFirst[3] ?? '';
  expect(numbersIn((await operators.support.get(`/operator/orders?text=${number}`)).body)).toEqual([
    number,
  ]);
  const all = await operators.support.get('/operator/orders');
  expect(numbersIn(all.body)).toEqual(newestFirst.slice(0, 25));
  const none = await operators.support.get(`/operator/orders?merchant=${other.merchantId}`);
  expect(none.body).toContain('No order matches.');
  const own = await operators.support.get(
    `/operator/orders?merchant=${written[0]?.merchantId}&text=search.me@example.com`,
  );
  expect(numbersIn(own.body)).toHaveLength(25);
});

test('the page of an order has its money, texts, timeline and a link to its workflow', async ({
  operators,
  orders,
}) => {
  const order = await orders.in('DISPUTE_OPEN', { description: 'A <b>blue</b> kurta' });
  const { status, body } = await until(async () => {
    const page = await operators.support.get(`/operator/orders/${order.orderNumber}`);
    // It waits 2 s for Temporal.
    return !page.body.includes('Temporal cannot be read') && page;
  });
  expect(status).toBe(200);
  expect(body).toContain('A &lt;b>blue&lt;/b> kurta');
  expect(body).toContain(await order.paymentId());
  expect(body).toContain('<code>merchant_held</code>');
  expect(body).toContain('DISPUTE_RAISED');
  expect(body).toMatch(
    new RegExp(
      `href="http://temporal.example:8233/namespaces/[^"]+/workflows/${order.orderNumber}/`,
    ),
  );
});

test('a dispute has the earlier ones of the same buyer and merchant', async ({
  operators,
  orders,
}) => {
  const buyer = { buyerEmail: 'again@example.com', buyerPhone: '+919333333333' };
  const earlier = await orders.in('REFUNDED', buyer);
  const now = await orders.in('DISPUTE_OPEN', { ...buyer, buyerPhone: '+919444444444' });
  const list = await operators.support.get('/operator/disputes?status=DISPUTE_OPEN');
  expect(list.body).toContain(`href="/operator/disputes/${now.orderNumber}"`);
  const { body } = await operators.support.get(`/operator/disputes/${now.orderNumber}`);
  expect(body).toContain(earlier.orderNumber);
  expect(body).toContain('same e-mail, ');
  expect(body).toContain('Accepted by the merchant: the buyer is refunded');
});

test('the lists name a merchant by its name, with its id in the title', async ({
  service,
  operators,
  orders,
  merchant: { merchantId },
}) => {
  const order = await orders.in('DISPUTE_UNDER_REVIEW');
  const [merchant] = await service.sql<{ name: string }[]>`
    SELECT name FROM merchants WHERE merchant_id = ${merchantId}`;
  const link = `href="/operator/merchants/${merchantId}" title="${merchantId}"><bdi>${merchant?.name}</bdi>`;
  const proposer = await aProposer(service, 'finance');
  const decision = { kind: 'dispute.decide', parameters: { winner: 'buyer' } } as const;
  const about = { subject: order.orderNumber, reason: 'The buyer is right' };
  const proposalId = await propose(service.deps, proposer, { ...decision, ...about });
  for (const path of [
    '/operator',
    `/operator/proposals/${proposalId}`,
    '/operator/orders',
    '/operator/disputes',
    `/operator/orders/${order.orderNumber}`,
    `/operator/disputes/${order.orderNumber}`,
  ]) {
    const { body } = await operators.support.get(path);
    expect(body, path).toContain(link);
    expect(body, path).not.toContain(`>${merchantId}<`);
  }
});

test('the ledger shows the last proof, its faults and the earlier proofs', async ({
  service,
  operators,
  orders,
}) => {
  const { sql, log } = service;
  const order = await orders.in('PAID');
  await proveLedger({ sql, log });
  expect((await operators.support.get('/operator/ledger')).body).toContain('The ledger is sound');
  await sql`
    UPDATE orders SET amount_paise = amount_paise + 1 WHERE order_number = ${order.orderNumber}`;
  await proveLedger({ sql, log });
  const { body } = await operators.support.get('/operator/ledger');
  expect(body).toMatch(/Fees of open orders.*<code>razorpay<\/code>.*Not known yet/s);
  expect(body).toContain('The ledger is not sound: 3 faults.');
  expect(body).toContain(`href="/operator/orders/${order.orderNumber}"`);
  expect(body).toContain('>Sound<');
  expect((await operators.support.get('/operator')).body).toContain('ledger_fault');
  await sql`
    UPDATE orders SET amount_paise = amount_paise - 1 WHERE order_number = ${order.orderNumber}`;
});

test('merchants that wait for a review are on the work queue', async ({ service, operators }) => {
  await service.sql`
    INSERT INTO merchants (merchant_id, name, email, submissions)
    VALUES ('mer_waiting', 'Nila Crafts', 'nila@example.com', 1),
      ('mer_new', 'Not submitted', 'new@example.com', 0)`;
  const { body } = await operators.support.get('/operator');
  expect(body).toContain('href="/operator/merchants/mer_waiting"');
  expect(body).not.toContain('mer_new');
});

test('the audit log is filtered, read in pages, and saved as CSV', async ({
  service,
  operators,
}) => {
  await service.sql`
    INSERT INTO audit_log (at, actor, address, action, subject, details)
    SELECT timestamptz '2026-11-01T12:00:00Z' + n * interval '1 second', 'operator:csv@example.com',
      '203.0.113.7', 'test.csv', '=HYPERLINK(1)', ${service.sql.json({ reason: 'A "quoted" reason, with a comma' })}
    FROM generate_series(1, 30) n`;
  const { support } = operators;
  const path = '/operator/audit?who=operator:csv@example.com&action=test.csv';
  const first = await support.get(path);
  expect(first.body.match(/<tr>/g)).toHaveLength(26);
  expect(first.body).toContain('203.0.113.7');
  const next = /href="([^"]*before=[^"]*)" rel="next"/.exec(first.body)?.[1] ?? '';
  expect((await support.get(next.replaceAll('&amp;', '&'))).body.match(/<tr>/g)).toHaveLength(6);
  // The days begin in Indian time.
  const day = (since: string, before: string) =>
    support.get(`${path}&since=${since}&until=${before}`);
  expect((await day('2026-11-01', '2026-11-02')).body).toContain('203.0.113.7');
  expect((await day('2026-11-02', '2026-11-03')).body).toContain('Nothing matches.');
  const wrong = await support.get('/operator/audit?since=yesterday');
  expect(wrong.status).toBe(400);
  expect(wrong.body).toContain('Since must be a day like 2026-11-20');

  const { body, headers } = await support.get(path.replace('/audit', '/audit.csv'));
  expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(headers.get('content-disposition')).toMatch(
    /^attachment; filename="audit-\d{4}-\d\d-\d\d.csv"$/,
  );
  const lines = body.split('\r\n');
  expect(lines).toHaveLength(32);
  expect(lines[0]).toBe(
    'id,at,at_ist,who,address,request_id,action,outcome,merchant_id,subject,reason,details',
  );
  expect(lines[1]).toContain(`test.csv,,,"=""=HYPERLINK(1)""","A ""quoted"" reason, with a comma"`);
});

test('the audit log says who did what on which merchant, in words', async ({
  service,
  operators,
  orders,
  merchant,
}) => {
  const { sql } = service;
  const { merchantId } = merchant;
  const asha = await operatorUser(sql, 'finance');
  const order = await orders.in('CANCELLED');
  const details = { linkedAccountId: 'acc_1', isNew: true, reason: 'They <b>asked</b>' };
  await sql`
    INSERT INTO audit_log (actor, address, action, merchant_id, subject, details) VALUES
      (${`operator:${asha.email}`}, '203.0.113.8', 'merchant.approve', ${merchantId}, NULL, ${sql.json(details)}),
      ('cli:asha', NULL, 'operator.role', NULL, ${asha.userId}, '{}'),
      ('key:mk_test_1', '203.0.113.9', 'order.later_action', ${merchantId}, 'razorpay:pay_1', '{}')`;
  const [{ name } = { name: '' }] = await sql<{ name: string }[]>`
    SELECT name FROM merchants WHERE merchant_id = ${merchantId}`;
  const read = async (query: string) =>
    (await operators.support.get(`/operator/audit?${query}`)).body;
  const byAsha = await read(`who=${asha.email}&subject=${merchantId}`);
  expect(byAsha).toContain(`${asha.email} <span class="hint">Operator</span>`);
  expect(byAsha).toMatch(/<summary>Approved the merchant/);
  expect(byAsha).toContain('They &lt;b>asked&lt;/b>');
  expect(byAsha).toContain('<dt>Linked account id</dt><dd><bdi>acc_1</bdi></dd>');
  expect(byAsha).toContain('<dt>Is new</dt><dd><bdi>Yes</bdi></dd>');
  expect(byAsha).toContain(`title="${merchantId}"><bdi>${name}</bdi></a>`);
  expect(byAsha.match(/<tr>/g)).toHaveLength(2);
  const onAsha = await read(`subject=${asha.userId}`);
  expect(onAsha).toContain(`href="/operator/operators/${asha.userId}">${asha.email}</a>`);
  expect(onAsha).toContain('asha <span class="hint">Terminal</span>');
  expect(await read(`subject=${order.orderNumber}`)).toMatch(
    new RegExp(`Cancelled the order[^]*href="/operator/orders/${order.orderNumber}"`),
  );
  // An older or newer version may have written what this one has no words for.
  const unknown = await read('who=key:mk_test_1');
  expect(unknown).toMatch(/title="mk_test_1"[^]*<span class="hint">API key<\/span>/);
  expect(unknown).toMatch(/<summary>order.later_action/);
});

test('without Temporal, pages show what the database has, and the rest as unknown', async ({
  service,
  orders,
}) => {
  const order = await orders.in('PAID');
  await service.sql`
    UPDATE orders SET pending_operation = '{"kind": "releasing"}',
      updated_at = updated_at - interval '10 minutes'
    WHERE order_number = ${order.orderNumber}`;
  const { origin } = await startApiWithSilentTemporal(service);
  const browser = browserOf(origin, await operatorUser(service.sql, 'support'));
  const [work, page] = await Promise.all([
    browser.get('/operator'),
    browser.get(`/operator/orders/${order.orderNumber}`),
  ]);
  expect(work.status).toBe(200);
  expect(work.body).toContain('Unknown: Temporal has not answered');
  expect(page.status).toBe(200);
  expect(page.body).toContain('Unknown: Temporal cannot be read.');
});
