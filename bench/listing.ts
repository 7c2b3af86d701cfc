import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { loadDevConfig } from '../dev/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase, jsonRow } from '../src/db/client.ts';
import { startEmbeddedPostgres } from '../dev/postgres/server.ts';
import { migrate } from '../src/db/migrate.ts';
import type { OrderStatus } from '../src/domain/index.ts';
import { cacheRoot } from '../dev/files/cache.ts';
import { startGuard } from '../dev/processes/guard.ts';
import { freePort } from '../dev/processes/ports.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { listOrders, orderPageQuery } from '../src/orders/list-orders.ts';
import { sealOrderBlocks } from '../src/orders/order-blocks.ts';
import { newSandboxOrder, registerMerchant, writeOrder } from './fixtures.ts';
import { percentile, timed } from './load.ts';

const FEW = 10_000;
const MANY = 1_000_000;
const ORDERS_PER_STATEMENT = 20_000;
const PAGE_SIZE = 100;
const READS = 300;
const CONCURRENCY = 16;
const ORDERS_PER_ROUND = 2000;
const ROUNDS = 8;
const DAY_MS = 24 * 3_600_000;
const DURATIONS = { completionWindowMs: DAY_MS, disputeAnswerMs: 3 * DAY_MS };

const TARGET_MS = 25;
const TARGET_RATIO = 3;

interface Merchants {
  few: string;
  many: string;
}

/**
 * Compares GET /orders and the creation of orders between a merchant with a million orders and one
 * with ten thousand, in alternation, on a separate PostgreSQL. The statements are the service's; the
 * time of a page is PostgreSQL's planning and execution time.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-bench-'));
  const guard = await startGuard([folder]);
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    cacheRoot: cacheRoot(loadDevConfig().cacheHome),
    log: console.log,
    guard,
    settings: { shared_buffers: '1GB', max_wal_size: '8GB' },
  });
  try {
    await migrate(server.adminUrl);
    const sql = connectDatabase(server.adminUrl, { maxConnections: CONCURRENCY, name: 'bench' });
    const merchants = { few: await registerMerchant(sql), many: await registerMerchant(sql) };
    await load(server.adminUrl, sql, merchants);
    const areGood = [await comparePages(sql, merchants), await compareCreating(sql, merchants)];
    await sql.end();
    if (areGood.includes(false)) process.exitCode = 1;
  } finally {
    await server.stop();
    await guard.release();
    await rm(folder, { recursive: true, force: true });
  }
}

async function load(url: string, sql: Sql, { few, many }: Merchants): Promise<void> {
  const startedAt = performance.now();
  await loadOrders(sql, few, FEW);
  await loadOrders(sql, many, MANY);
  const loadedAt = performance.now();
  const blocks = await sealOrderBlocks(sql);
  const sealedAt = performance.now();
  // The service's connections have a statement time-out.
  const withoutTimeout = postgres(url, { max: 1 });
  await withoutTimeout`VACUUM ANALYZE`;
  await withoutTimeout.end();
  const seconds = (ms: number) => `${(ms / 1000).toFixed(0)} s`;
  console.log(`\n${FEW + MANY} orders loaded in ${seconds(loadedAt - startedAt)}`);
  console.log(`${blocks} blocks of them sealed in ${seconds(sealedAt - loadedAt)}\n`);
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
        'idempotency_key', i, 'step_number', 5, 'dispute_count', 0, 'created_at', at,
        'updated_at', at, 'payment_link_expires_at', at, 'status', CASE
          WHEN i > ${orders} - 500 THEN 'PAID'
          WHEN i % 50 = 0 THEN 'REFUNDED'
          WHEN i % 10 = 0 THEN 'CANCELLED'
          ELSE 'COMPLETED' END)) AS new_order`;
  }
}

async function comparePages(sql: Sql, merchants: Merchants): Promise<boolean> {
  console.log('milliseconds in PostgreSQL    10,000 orders       1,000,000 orders    ratio of');
  console.log('list       page               p50       p99       p50       p99       p50   p99');
  let isGood = true;
  for (const status of [undefined, 'COMPLETED', 'REFUNDED', 'PAID'] as const) {
    for (const place of ['first', 'middle', 'last'] as const) {
      const { few, many } = await measurePage(sql, merchants, place, status);
      const ratios = [many.p50 / few.p50, many.p99 / few.p99];
      const times = [few.p50, few.p99, many.p50, many.p99].map((ms) => ms.toFixed(2).padEnd(10));
      const name = `${(status ?? 'all').padEnd(11)}${place.padEnd(19)}`;
      console.log(`${name}${times.join('')}${ratios.map((ratio) => ratio.toFixed(2)).join('  ')}`);
      isGood &&= many.p99 <= TARGET_MS && ratios.every((ratio) => ratio <= TARGET_RATIO);
    }
  }
  console.log(`\np99 ≤ ${TARGET_MS} ms, ratio ≤ ${TARGET_RATIO}: ${isGood ? 'met' : 'MISSED'}\n`);
  return isGood;
}

/** Measures the same page of both merchants in alternation, so that other load affects both. */
async function measurePage(
  sql: Sql,
  merchants: Merchants,
  place: 'first' | 'middle' | 'last',
  status: OrderStatus | undefined,
) {
  const listOf = async (merchantId: string) => {
    const filter = { merchantId, environment: 'sandbox' as const, status };
    const { totalElements } = await listOrders(sql, filter, { number: 0, size: 1 });
    const last = Math.ceil(totalElements / PAGE_SIZE) - 1;
    const number = { first: 0, middle: Math.floor(last / 2), last }[place];
    const query = orderPageQuery(sql, filter, { number, size: PAGE_SIZE });
    return { query, times: [] as number[] };
  };
  const [few, many] = [await listOf(merchants.few), await listOf(merchants.many)];
  for (let read = 0; read < READS; read += 1) {
    for (const { query, times } of [few, many]) times.push(await databaseTime(sql, query));
  }
  return { few: percentiles(few.times), many: percentiles(many.times) };
}

/** PostgreSQL's planning and execution time of a query, in milliseconds. */
async function databaseTime(sql: Sql, query: ReturnType<typeof orderPageQuery>): Promise<number> {
  const lines = await sql<Record<'QUERY PLAN', string>[]>`
    EXPLAIN (ANALYZE, TIMING off, BUFFERS off, SUMMARY) ${query}`;
  const text = lines.map((line) => line['QUERY PLAN']).join('\n');
  const timeOf = (name: string) => Number(new RegExp(`${name} Time: ([0-9.]+) ms`).exec(text)?.[1]);
  return timeOf('Planning') + timeOf('Execution');
}

/** Compares both merchants, and the larger one also without the trigger that counts orders. */
async function compareCreating(sql: Sql, { few, many }: Merchants): Promise<boolean> {
  console.log(
    `orders created per second, concurrency ${CONCURRENCY}, best of ${ROUNDS} rounds each\n`,
  );
  const present = createOrderPresenter('http://localhost');
  const create = (merchantId: string) =>
    writeOrder(merchantId, { sql, durations: DURATIONS, present, paymentLinkMs: DAY_MS });
  const rates = { few: 0, many: 0, without: 0 };
  const measure = async (name: keyof typeof rates, merchantId: string) => {
    rates[name] = Math.max(rates[name], await ratePerSecond(() => create(merchantId)));
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    await measure('few', few);
    await measure('many', many);
    await sql`ALTER TABLE orders DISABLE TRIGGER count_new_order`;
    await measure('without', many);
    await sql`ALTER TABLE orders ENABLE TRIGGER count_new_order`;
  }
  console.log(`10,000 orders before            ${rates.few.toFixed(0)}`);
  console.log(`1,000,000 orders before         ${rates.many.toFixed(0)}`);
  console.log(`1,000,000, nothing for lists    ${rates.without.toFixed(0)}`);
  const isGood = rates.many >= 0.9 * Math.min(rates.few, rates.without);
  console.log(`\nno slower than nine tenths of either: ${isGood ? 'met' : 'MISSED'}`);
  return isGood;
}

async function ratePerSecond(work: () => Promise<unknown>): Promise<number> {
  return (
    ORDERS_PER_ROUND / (await timed({ count: ORDERS_PER_ROUND, concurrency: CONCURRENCY }, work))
  );
}

function percentiles(numbers: readonly number[]) {
  return { p50: percentile(numbers, 0.5), p99: percentile(numbers, 0.99) };
}
