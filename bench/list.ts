import postgres from 'postgres';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase, jsonRow } from '../src/db/client.ts';
import type { OrderStatus } from '../src/domain/index.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { listOrders, orderPageQuery } from '../src/orders/lists/list-orders.ts';
import { sealOrderBlocks } from '../src/orders/lists/order-blocks.ts';
import { newSandboxOrder, registerMerchant, writeOrder } from './fixtures.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { alternate, ratioOf, ROUNDS } from './harness/rounds.ts';
import { median, percentile } from './harness/statistics.ts';
import { ratePerSecond } from './load.ts';
import { startDatabase, withWorkplace } from './servers.ts';

/** The orders of the two merchants. */
const ORDERS = { full: { few: 10_000, many: 1_000_000 }, quick: { few: 2000, many: 40_000 } };
const ORDERS_PER_STATEMENT = 20_000;
const PAGE_SIZE = 100;
const READS_PER_ROUND = { full: 100, quick: 20 };
const CONCURRENCY = 16;
const ORDERS_PER_ROUND = { full: 2000, quick: 500 };
const DAY_MS = 24 * 3_600_000;
const DURATIONS = { completionWindowMs: DAY_MS, disputeAnswerMs: 3 * DAY_MS };

const TARGET_MS = 25;
const TARGET_RATIO = 3;
const TARGET_CREATING = 0.9;

interface Merchants {
  few: string;
  many: string;
}

/** Lists, and the creation of orders, of a merchant with a million orders and of one with ten thousand. */
export const benchmark: Benchmark = {
  description:
    "Lists and the creation of orders, of a merchant with a million orders against one with ten thousand: PostgreSQL's time for pages of 100.",
  run: ({ quick }) =>
    withWorkplace(async (place) => {
      const size = quick ? 'quick' : 'full';
      const server = await startDatabase(place);
      const sql = connectDatabase(server.adminUrl, { maxConnections: CONCURRENCY, name: 'bench' });
      const merchants = { few: await registerMerchant(sql), many: await registerMerchant(sql) };
      await load(server.adminUrl, sql, { merchants, orders: ORDERS[size] });
      const pages = await measurePages(sql, merchants, READS_PER_ROUND[size]);
      const creating = await measureCreating(sql, merchants, ORDERS_PER_ROUND[size]);
      await sql.end();
      await server.stop();
      return {
        measurements: [...pages, ...creating],
        targets: [
          { of: 'slowest', atMost: TARGET_MS },
          { of: 'ratio-p50', atMost: TARGET_RATIO },
          { of: 'ratio-p99', atMost: TARGET_RATIO },
          { of: 'creating-ratio', atLeast: TARGET_CREATING },
          { of: 'trigger-ratio', atLeast: TARGET_CREATING },
        ],
      };
    }),
};

async function load(
  url: string,
  sql: Sql,
  { merchants, orders }: { merchants: Merchants; orders: Record<keyof Merchants, number> },
): Promise<void> {
  const startedAt = performance.now();
  await loadOrders(sql, merchants.few, orders.few);
  await loadOrders(sql, merchants.many, orders.many);
  const blocks = await sealOrderBlocks(sql);
  // The service's connections have a statement time-out.
  const withoutTimeout = postgres(url, { max: 1 });
  await withoutTimeout`VACUUM ANALYZE`;
  await withoutTimeout.end();
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`${orders.few + orders.many} orders loaded, ${blocks} blocks sealed in ${seconds} s`);
}

/** Inserts one order for each second until an hour ago: most COMPLETED, the newest PAID. */
async function loadOrders(sql: Sql, merchantId: string, orders: number): Promise<void> {
  const template = newSandboxOrder(merchantId, DURATIONS);
  const common = jsonRow(sql, { ...template, gateway: 'razorpay', requestHash: '' });
  for (let from = 0; from < orders; from += ORDERS_PER_STATEMENT) {
    await sql`
      INSERT INTO orders
      SELECT new_order.* FROM (
        SELECT i, now() - (3600 + ${orders} - i) * interval '1 second' AS at
        FROM generate_series(${from + 1}::integer, ${from + ORDERS_PER_STATEMENT}::integer) AS i
        WHERE i <= ${orders}
      ) AS numbers,
      LATERAL jsonb_populate_record(NULL::orders, ${common} || jsonb_build_object(
        'order_number', ${template.orderNumber} || i, 'payment_token', ${merchantId} || i,
        'idempotency_key', i, 'step_number', 5, 'dispute_count', 0, 'reversed_paise', 0, 'created_at', at,
        'updated_at', at, 'payment_link_expires_at', at, 'status', CASE
          WHEN i > ${orders} - 500 THEN 'PAID'
          WHEN i % 50 = 0 THEN 'REFUNDED'
          WHEN i % 10 = 0 THEN 'CANCELLED'
          ELSE 'COMPLETED' END)) AS new_order`;
  }
}

/** The times of one page, by round. */
interface PageTimes {
  readonly name: string;
  readonly few: { readonly p50: number[]; readonly p99: number[] };
  readonly many: { readonly p50: number[]; readonly p99: number[] };
}

async function measurePages(sql: Sql, merchants: Merchants, reads: number): Promise<Measurement[]> {
  const pages: PageTimes[] = [];
  for (const status of [undefined, 'COMPLETED', 'REFUNDED', 'PAID'] as const) {
    for (const place of ['first', 'middle', 'last'] as const) {
      const name = `${status ?? 'all'}, ${place} page`;
      const times = await measurePage(sql, merchants, { place, status, reads });
      pages.push({ name, ...times });
      console.log(`${name.padEnd(26)}${median(times.many.p50).toFixed(2)} ms`);
    }
  }
  const ms = (id: string, title: string, rounds: number[]) => ({ id, title, unit: 'ms', rounds });
  const perPage = pages.flatMap(({ name, few, many }) => [
    ms(`few-${name}`, `${name}, few orders, half within`, few.p50),
    ms(`many-${name}`, `${name}, many orders, half within`, many.p50),
    ms(`many-p99-${name}`, `${name}, many orders, 99 of 100 within`, many.p99),
  ]);
  const worst = (measurements: Measurement[], id: string, title: string) => {
    const sorted = measurements.toSorted((a, b) => median(b.rounds) - median(a.rounds));
    const [largest] = sorted as [Measurement];
    return { ...largest, id, title };
  };
  const ratios = (share: 'p50' | 'p99') =>
    pages.map((page) => ratioOf({ id: '', title: '' }, page.many[share], page.few[share]));
  return [
    ...perPage,
    worst(
      pages.map(({ many }) => ms('', '', many.p99)),
      'slowest',
      'the slowest page, 99 of 100 within',
    ),
    worst(
      ratios('p50'),
      'ratio-p50',
      'many against few orders, the page where that is most, half within',
    ),
    worst(
      ratios('p99'),
      'ratio-p99',
      'many against few orders, the page where that is most, 99 of 100 within',
    ),
  ];
}

/** Measures the same page of both merchants in alternation, so that other load affects both. */
async function measurePage(
  sql: Sql,
  merchants: Merchants,
  page: { place: 'first' | 'middle' | 'last'; status: OrderStatus | undefined; reads: number },
): Promise<Omit<PageTimes, 'name'>> {
  const queryOf = async (merchantId: string) => {
    const filter = { merchantId, environment: 'sandbox' as const, status: page.status };
    const { totalElements } = await listOrders(sql, filter, { skip: 0, size: 1 });
    const last = Math.ceil(totalElements / PAGE_SIZE) - 1;
    const number = { first: 0, middle: Math.floor(last / 2), last }[page.place];
    // An object, because awaiting a query would send it.
    return { query: orderPageQuery(sql, filter, { skip: number * PAGE_SIZE, size: PAGE_SIZE }) };
  };
  const sides = ['few', 'many'] as const;
  const queries = { few: await queryOf(merchants.few), many: await queryOf(merchants.many) };
  const times = { few: { p50: [], p99: [] }, many: { p50: [], p99: [] } } as Omit<
    PageTimes,
    'name'
  >;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const read = { few: [] as number[], many: [] as number[] };
    for (let count = 0; count < page.reads; count += 1) {
      for (const side of sides) read[side].push(await databaseTime(sql, queries[side].query));
    }
    if (round === 0) continue;
    for (const side of sides) {
      times[side].p50.push(percentile(read[side], 0.5));
      times[side].p99.push(percentile(read[side], 0.99));
    }
  }
  return times;
}

/** PostgreSQL's planning and execution time of a query, in milliseconds. */
async function databaseTime(sql: Sql, query: ReturnType<typeof orderPageQuery>): Promise<number> {
  const lines = await sql<Record<'QUERY PLAN', string>[]>`
    EXPLAIN (ANALYZE, TIMING off, BUFFERS off, SUMMARY) ${query}`;
  const text = lines.map((line) => line['QUERY PLAN']).join('\n');
  const timeOf = (name: string) => Number(new RegExp(`${name} Time: ([0-9.]+) ms`).exec(text)?.[1]);
  return timeOf('Planning') + timeOf('Execution');
}

/** Creates orders of both merchants, and of the larger one also without the trigger that counts orders. */
async function measureCreating(
  sql: Sql,
  { few, many }: Merchants,
  count: number,
): Promise<Measurement[]> {
  const present = createOrderPresenter('http://localhost');
  const options = { sql, durations: DURATIONS, present, paymentLinkMs: DAY_MS };
  const create = (merchantId: string) =>
    ratePerSecond({ count, concurrency: CONCURRENCY }, () => writeOrder(merchantId, options));
  const rates = await alternate({
    few: () => create(few),
    many: () => create(many),
    async 'without counts'() {
      await sql`ALTER TABLE orders DISABLE TRIGGER count_new_order`;
      const rate = await create(many);
      await sql`ALTER TABLE orders ENABLE TRIGGER count_new_order`;
      return rate;
    },
  });
  const without = rates['without counts'];
  const unit = 'rows of orders per second';
  return [
    { id: 'creating-few', title: 'created after few orders', unit, rounds: rates.few },
    { id: 'creating-many', title: 'created after many orders', unit, rounds: rates.many },
    { id: 'creating-without', title: 'the same without counting for lists', unit, rounds: without },
    ratioOf(
      { id: 'creating-ratio', title: 'creating, many against few orders' },
      rates.many,
      rates.few,
    ),
    ratioOf(
      { id: 'trigger-ratio', title: 'creating, with against without counts' },
      rates.many,
      without,
    ),
  ];
}
