import { expect } from 'vitest';
import type { Sql } from '../../src/db/client.ts';
import { MOST_NUMBERED } from '../../src/db/list-part.ts';
import type { OrderSort } from '../../src/orders/lists/page-orders.ts';
import { ORDER_SORTS, pageOrders } from '../../src/orders/lists/page-orders.ts';
import type { MerchantSearch } from '../../src/orders/lists/search-orders.ts';
import { searchAllOrders } from '../../src/orders/lists/search-orders.ts';
import { sealOrderBlocks } from '../../src/orders/lists/order-blocks.ts';
import type { OrderRow } from '../../src/orders/rows.ts';
import { databaseTest } from '../support/fixtures.ts';
import { HOUR_MS, pick, random, writeMerchant, writePastOrders } from './past-orders.ts';

/** More than are counted one by one. */
const ORDERS = MOST_NUMBERED + 60;
const BUYER = 'many@example.com';
const FEW = 'few@example.com';

const test = databaseTest().extend('owner', { scope: 'file' }, async ({ database: { sql } }) => {
  const merchantId = await writeMerchant(sql);
  const startMs = Date.now() - 30 * HOUR_MS;
  const orders = Array.from({ length: ORDERS }, (_, index) => ({
    status: index % 2 === 0 ? ('COMPLETED' as const) : pick(['PAID', 'CANCELLED'] as const),
    createdAt: new Date(startMs + Math.floor(random() * 1000) * 60_000),
    amountPaise: 10_000 + 100 * Math.floor(random() * 50),
    buyerEmail: index % 100 === 0 ? FEW : BUYER,
  }));
  await writePastOrders(sql, merchantId, orders);
  await sealOrderBlocks(sql, 100);
  return { merchantId, environment: 'sandbox' as const };
});

/** The orders of a search, newest first, computed from all orders. */
async function everyOrder(sql: Sql, { text, status, createdFrom, createdTo }: MerchantSearch) {
  const rows = await sql<OrderRow[]>`
    SELECT * FROM orders ORDER BY created_at DESC, order_number DESC`;
  return rows.filter(
    (row) =>
      (text === undefined || row.buyerEmail === text) &&
      (status === undefined || row.status === status) &&
      (createdFrom === undefined || row.createdAt >= createdFrom) &&
      (createdTo === undefined || row.createdAt < createdTo),
  );
}

const numbersOf = (orders: readonly { orderNumber: string }[]) =>
  orders.map(({ orderNumber }) => orderNumber);

function sorted(newest: readonly OrderRow[], sort: OrderSort) {
  if (sort === 'newest') return newest;
  if (sort === 'oldest') return newest.toReversed();
  const direction = sort === 'largest' ? -1 : 1;
  return newest.toSorted((one, two) => direction * (one.amountPaise - two.amountPaise));
}

const SEARCHES: MerchantSearch[] = [
  {},
  { status: 'COMPLETED' },
  { status: 'PAID', createdTo: new Date(Date.now() - 24 * HOUR_MS) },
  { createdFrom: new Date(Date.now() - 22 * HOUR_MS) },
  { text: FEW },
  { text: FEW, status: 'COMPLETED' },
];

test.for(SEARCHES.flatMap((search) => ORDER_SORTS.map((sort) => ({ search, sort }))))(
  'every page has its orders, and the total of them is exact: $search, $sort',
  async ({ search, sort: asked }, { database: { serviceSql: sql }, owner }) => {
    const newest = await everyOrder(sql, search);
    const canBeAdded = newest.length <= MOST_NUMBERED;
    const sort = canBeAdded || asked === 'oldest' ? asked : 'newest';
    const expected = numbersOf(sorted(newest, sort));
    for (const skip of [
      0,
      25,
      Math.floor(newest.length / 2),
      newest.length - 3,
      newest.length + 25,
    ]) {
      const page = await pageOrders(sql, owner, search, { skip, limit: 25 }, asked);
      expect({ ...page, rows: numbersOf(page.rows) }).toMatchObject({
        rows: expected.slice(skip, skip + 25),
        hasMore: expected.length > skip + 25,
        sort,
        total: { count: expected.length, isMore: false },
        totalPaise: canBeAdded ? newest.reduce((sum, row) => sum + row.amountPaise, 0) : null,
      });
    }
  },
);

test('a search that finds too many to be counted says so, and is read on by keys', async ({
  database: { serviceSql: sql },
  owner,
}) => {
  const search = { text: BUYER };
  const expected = numbersOf(await everyOrder(sql, search));
  expect(expected.length).toBeGreaterThan(MOST_NUMBERED);
  const last = await pageOrders(sql, owner, search, { skip: 975, limit: 25 }, 'largest');
  expect(last).toMatchObject({
    total: { count: MOST_NUMBERED, isMore: true },
    hasMore: true,
    sort: 'newest',
    sorts: ['newest'],
    totalPaise: null,
  });
  const after = last.rows.at(-1)?.orderNumber;
  const next = await pageOrders(sql, owner, search, { skip: 0, limit: 25, after }, 'newest');
  expect(next.total).toBeUndefined();
  expect(numbersOf([...last.rows, ...next.rows])).toEqual(expected.slice(975, 1025));
});

test('the orders of each status are counted within the days of the search, and not for a text', async ({
  database: { serviceSql: sql },
  owner,
}) => {
  const search = { createdFrom: new Date(Date.now() - 22 * HOUR_MS), status: 'PAID' as const };
  const within = await everyOrder(sql, { createdFrom: search.createdFrom });
  const { counts } = await pageOrders(sql, owner, search, { skip: 0, limit: 25 }, 'newest');
  for (const status of ['COMPLETED', 'PAID', 'CANCELLED', 'REFUNDED'] as const) {
    expect(counts?.[status]).toBe(within.filter((row) => row.status === status).length);
  }
  const found = await pageOrders(sql, owner, { text: FEW }, { skip: 0, limit: 25 }, 'newest');
  expect(found.counts).toBeUndefined();
});

test("an operator's list of all orders has page numbers up to a limit, and keys beyond", async ({
  database: { serviceSql: sql },
  owner: { merchantId },
}) => {
  const byNumber = numbersOf(
    await sql<OrderRow[]>`SELECT order_number FROM orders ORDER BY order_number DESC`,
  );
  const byTime = numbersOf(await everyOrder(sql, {}));
  for (const [search, expected] of [
    [{}, byNumber],
    [{ merchantId }, byTime],
  ] as const) {
    const last = await searchAllOrders(sql, search, { skip: 975, limit: 25 });
    expect(last).toMatchObject({ total: { count: MOST_NUMBERED, isMore: true }, hasMore: true });
    expect(last.rows[0]).toMatchObject({ merchantId });
    const after = last.rows.at(-1)?.orderNumber;
    const next = await searchAllOrders(sql, search, { skip: 0, limit: 100, after });
    expect(next.hasMore).toBe(false);
    const shown = numbersOf([...last.rows, ...next.rows]);
    expect(shown).toEqual(expected.slice(975));
  }
});
