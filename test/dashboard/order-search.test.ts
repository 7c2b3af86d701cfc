import { describe, expect, test as plainTest } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import type { MerchantSearch } from '../../src/orders/lists/search-orders.ts';
import { foundQuery, recogniseSearch } from '../../src/orders/lists/search-orders.ts';
import { databaseTest } from '../support/fixtures.ts';
import { HOUR_MS, pick, random, writeMerchant, writePastOrders } from './past-orders.ts';

const NUMBER = 'ORD01KAHV3Z8Q4N2M6P7R9T1W3X5Y';

plainTest.for([
  [NUMBER, [`orderNumber ${NUMBER}`]],
  [` ${NUMBER.toLowerCase()} `, [`orderNumber ${NUMBER}`]],
  ['Asha@Example.com', ['email Asha@Example.com']],
  ['98765 43210', ['phone +919876543210']],
  ['+91 98765-43210', ['phone +919876543210']],
  [
    '09876543210',
    [
      'phone +919876543210',
      'utr 09876543210',
      'merchantOrderId 09876543210',
      'reference 09876543210',
    ],
  ],
  ['432112345678', ['utr 432112345678', 'merchantOrderId 432112345678', 'reference 432112345678']],
  [
    '919876543210',
    [
      'phone +919876543210',
      'utr 919876543210',
      'merchantOrderId 919876543210',
      'reference 919876543210',
    ],
  ],
  ['SHOP-1042', ['merchantOrderId SHOP-1042', 'reference SHOP-1042']],
  ['HDFC0000123', ['utr HDFC0000123', 'merchantOrderId HDFC0000123', 'reference HDFC0000123']],
  ['two words', []],
  ['%', []],
] as const)('%s is recognised as what it may be', ([text, criteria]) => {
  expect(recogniseSearch(text).map(({ kind, value }) => `${kind} ${value}`)).toEqual(criteria);
});

const ORDERS = 300;
const BUYER = 'Regular.Buyer@example.com';
const PHONE = '+919000000001';

interface Shop {
  merchantId: string;
  other: string;
}

/** The orders of a merchant, several of them created in the same millisecond, and of another one. */
async function fill(sql: Sql): Promise<Shop> {
  const merchantId = await writeMerchant(sql);
  const other = await writeMerchant(sql);
  const startMs = Date.now() - 30 * HOUR_MS;
  const orders = Array.from({ length: ORDERS }, (_, index) => ({
    createdAt: new Date(startMs + Math.floor(random() * ORDERS) * 1000),
    merchantOrderId: index % 10 === 0 ? '100000000001' : `SHOP-${index}`,
    buyerEmail: index % 7 === 0 ? BUYER : `buyer-${index}@example.com`,
    buyerPhone: index % 5 === 0 ? PHONE : '+919999999999',
    environment: index % 11 === 0 ? ('production' as const) : ('sandbox' as const),
  }));
  await writePastOrders(sql, merchantId, orders);
  await writePastOrders(sql, other, orders);
  // The digits of a merchant's own id are also the UTR of other orders.
  await sql`
    INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, amount_paise, utr)
    SELECT 'razorpay', 'pay_' || order_number, environment, order_number, amount_paise,
      CASE WHEN buyer_phone = ${PHONE} THEN '100000000001' ELSE order_number END FROM orders`;
  await sql`ANALYZE`;
  return { merchantId, other };
}

const test = databaseTest()
  .extend('shop', { scope: 'file' }, ({ database }) => fill(database.sql))
  // 600 rows are few enough for a scan; with scans switched off, a plan without an index stands out.
  .extend('planner', { scope: 'file' }, async ({ database }, { onCleanup }) => {
    const sql = connectDatabase(database.url, { maxConnections: 1 });
    onCleanup(() => sql.end({ timeout: 1 }));
    await sql`SET enable_seqscan = off`;
    return sql;
  });

interface Row {
  orderNumber: string;
  createdAt: Date;
  status: string;
  merchantOrderId: string;
  buyerEmail: string;
  buyerPhone: string;
  utr: string;
}

/** The orders that a search describes, newest first, computed from all orders. */
async function everyMatching(sql: Sql, merchantId: string, search: MerchantSearch) {
  const rows = await sql<Row[]>`
    SELECT o.*, p.utr FROM orders o JOIN payments p USING (order_number)
    WHERE merchant_id = ${merchantId} AND o.environment = 'sandbox'`;
  const { text = '', status, createdFrom, createdTo } = search;
  const hasText = (row: Row) =>
    text === '' ||
    [row.orderNumber, row.merchantOrderId, row.buyerPhone, row.utr].includes(text) ||
    row.buyerEmail.toLowerCase() === text.toLowerCase();
  return rows
    .filter(
      (row) =>
        hasText(row) &&
        (status === undefined || row.status === status) &&
        (createdFrom === undefined || row.createdAt >= createdFrom) &&
        (createdTo === undefined || row.createdAt < createdTo),
    )
    .sort(
      (one, two) =>
        two.createdAt.getTime() - one.createdAt.getTime() ||
        (one.orderNumber < two.orderNumber ? 1 : -1),
    )
    .map(({ orderNumber }) => orderNumber);
}

/** Reads part after part until there are no more. */
async function everyFound(sql: Sql, merchantId: string, search: MerchantSearch, limit: number) {
  const owner = { merchantId, environment: 'sandbox' as const };
  const found: string[] = [];
  for (;;) {
    const part = { before: found.at(-1), limit };
    const keys = await sql<{ orderNumber: string }[]>`${foundQuery(sql, owner, search, part)}`;
    found.push(...keys.map(({ orderNumber }) => orderNumber));
    if (keys.length < limit) return found;
  }
}

describe('a search', () => {
  test('finds exactly the orders of its text and filters, each once, whatever the size of its parts', async ({
    database: { serviceSql: sql },
    shop: { merchantId },
  }) => {
    const [one] = await everyMatching(sql, merchantId, {});
    const texts = ['', one!, '100000000001', BUYER.toLowerCase(), PHONE, 'SHOP-1', 'nothing such'];
    for (let round = 0; round < 60; round += 1) {
      const startMs = Date.now() - 30 * HOUR_MS;
      const moment = () =>
        pick([undefined, new Date(startMs + Math.floor(random() * ORDERS) * 1000)]);
      const search = {
        text: texts[round % texts.length]!,
        status: pick([undefined, undefined, ...ORDER_STATUSES]),
        createdFrom: moment(),
        createdTo: moment(),
      };
      const expected = await everyMatching(sql, merchantId, search);
      const found = await everyFound(sql, merchantId, search, pick([1, 3, 25, 1000]));
      expect({ search, found }).toEqual({ search, found: expected });
    }
  });

  test("never begins at another merchant's order", async ({
    database: { serviceSql: sql },
    shop: { merchantId, other },
  }) => {
    const [foreign] = await everyMatching(sql, other, {});
    const owner = { merchantId, environment: 'sandbox' as const };
    const found = await sql`${foundQuery(sql, owner, {}, { before: foreign, limit: 25 })}`;
    expect(found).toEqual([]);
  });

  test.for(
    ['', NUMBER, 'SHOP-1', BUYER, PHONE, '432112345678'].flatMap((text) =>
      [undefined, 'PAID' as const].flatMap((status) =>
        [undefined, new Date()].flatMap((created) =>
          [undefined, NUMBER].map((before) => ({ text, status, created, before })),
        ),
      ),
    ),
  )(
    'is read from an index: $text $status $created $before',
    async ({ text, status, created, before }, { planner: sql, shop: { merchantId } }) => {
      const search = { text, status, createdFrom: created && new Date(0), createdTo: created };
      const owner = { merchantId, environment: 'sandbox' as const };
      const query = foundQuery(sql, owner, search, { before, limit: 25 });
      const lines = await sql<Record<'QUERY PLAN', string>[]>`EXPLAIN ${query}`;
      expect(lines.map((line) => line['QUERY PLAN']).join('\n')).not.toContain('Seq Scan');
    },
  );
});
