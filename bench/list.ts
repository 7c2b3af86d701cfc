import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import type { OrderStatus } from '../src/domain/index.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { listOrders, orderPageQuery } from '../src/orders/lists/list-orders.ts';
import { registerMerchant, writeOrder } from './fixtures.ts';
import type { Benchmark, Outcome } from './harness/benchmark.ts';
import { alternate, median, percentile, ratePerSecond, ratioOf, ROUNDS } from './harness/rounds.ts';
import { loadOrders, runHousekeeping } from './loaded-orders.ts';
import { startDatabase, withWorkplace } from './servers.ts';

const ORDERS = { full: { few: 10_000, many: 1_000_000 }, quick: { few: 2000, many: 40_000 } };
const PAGE_SIZE = 100;
const READS_PER_ROUND = { full: 100, quick: 20 };
const CONCURRENCY = 16;
const ORDERS_PER_ROUND = { full: 2000, quick: 500 };

const TARGET_MS = 25;
const TARGET_RATIO = 3;
const TARGET_CREATING = 0.9;

const SIDES = ['few', 'many'] as const;
type PerSide<Value> = Record<(typeof SIDES)[number], Value>;

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
      for (const side of SIDES) await loadOrders(sql, merchants[side], ORDERS[size][side]);
      await runHousekeeping(server.adminUrl, sql);
      const parts: Outcome[] = [];
      for (const page of PAGES) {
        parts.push(await measurePage(sql, merchants, { page, reads: READS_PER_ROUND[size] }));
      }
      parts.push(await measureCreating(sql, merchants, ORDERS_PER_ROUND[size]));
      await sql.end();
      await server.stop();
      return {
        measurements: parts.flatMap(({ measurements }) => measurements),
        targets: parts.flatMap(({ targets = [] }) => targets),
      };
    }),
};

interface Page {
  readonly status: OrderStatus | undefined;
  readonly place: 'first' | 'middle' | 'last';
}

const PAGES: readonly Page[] = [undefined, 'COMPLETED', 'REFUNDED', 'PAID'].flatMap((status) =>
  ['first', 'middle', 'last'].map((place) => ({ status, place }) as Page),
);

/** Measures the same page of both merchants in alternation, so that other load affects both. */
async function measurePage(
  sql: Sql,
  merchants: PerSide<string>,
  { page, reads }: { page: Page; reads: number },
): Promise<Outcome> {
  const queryOf = async (merchantId: string) => {
    const filter = { merchantId, environment: 'sandbox' as const, status: page.status };
    const { totalElements } = await listOrders(sql, filter, { skip: 0, size: 1 });
    const last = Math.ceil(totalElements / PAGE_SIZE) - 1;
    const number = { first: 0, middle: Math.floor(last / 2), last }[page.place];
    // An object, because awaiting a query would send it.
    return { query: orderPageQuery(sql, filter, { skip: number * PAGE_SIZE, size: PAGE_SIZE }) };
  };
  const queries = { few: await queryOf(merchants.few), many: await queryOf(merchants.many) };
  const p50: PerSide<number[]> = { few: [], many: [] };
  const p99: PerSide<number[]> = { few: [], many: [] };
  for (let round = 0; round <= ROUNDS; round += 1) {
    const read: PerSide<number[]> = { few: [], many: [] };
    for (let count = 0; count < reads; count += 1) {
      for (const side of SIDES) read[side].push(await databaseTime(sql, queries[side].query));
    }
    if (round === 0) continue;
    for (const side of SIDES) {
      p50[side].push(percentile(read[side], 0.5));
      p99[side].push(percentile(read[side], 0.99));
    }
  }
  const name = `${page.status ?? 'all'}, ${page.place} page`;
  console.log(`${name.padEnd(26)}${median(p50.many).toFixed(2)} ms`);
  return figuresOf(name, p50, p99);
}

/** The figures of one page with their targets. */
function figuresOf(name: string, p50: PerSide<number[]>, p99: PerSide<number[]>): Outcome {
  const ms = (id: string, title: string, rounds: number[]) => ({ id, title, unit: 'ms', rounds });
  const [half, most] = ['50 of 100 within', '99 of 100 within'];
  const ratio = `${name}, many against few orders`;
  return {
    measurements: [
      ms(`few-${name}`, `${name}, few orders, ${half}`, p50.few),
      ms(`many-${name}`, `${name}, many orders, ${half}`, p50.many),
      ms(`many-p99-${name}`, `${name}, many orders, ${most}`, p99.many),
      ratioOf({ id: `ratio-${name}`, title: `${ratio}, ${half}` }, p50.many, p50.few),
      ratioOf({ id: `ratio-p99-${name}`, title: `${ratio}, ${most}` }, p99.many, p99.few),
    ],
    targets: [
      { of: `many-p99-${name}`, atMost: TARGET_MS },
      { of: `ratio-${name}`, atMost: TARGET_RATIO },
      { of: `ratio-p99-${name}`, atMost: TARGET_RATIO },
    ],
  };
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
  { few, many }: PerSide<string>,
  count: number,
): Promise<Outcome> {
  const present = createOrderPresenter('http://localhost');
  const create = (merchantId: string) =>
    ratePerSecond({ count, concurrency: CONCURRENCY }, () =>
      writeOrder({ sql, present }, merchantId),
    );
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
  const counted = { id: 'trigger-ratio', title: 'creating, with against without counts' };
  const after = { id: 'creating-ratio', title: 'creating, many against few orders' };
  return {
    measurements: [
      { id: 'creating-few', title: 'created after few orders', unit, rounds: rates.few },
      { id: 'creating-many', title: 'created after many orders', unit, rounds: rates.many },
      {
        id: 'creating-without',
        title: 'the same without counting for lists',
        unit,
        rounds: without,
      },
      ratioOf(after, rates.many, rates.few),
      ratioOf(counted, rates.many, without),
    ],
    targets: [after, counted].map(({ id }) => ({ of: id, atLeast: TARGET_CREATING })),
  };
}
