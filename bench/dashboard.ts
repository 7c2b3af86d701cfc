import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { loadDevConfig } from '../dev/config.ts';
import { cacheRoot } from '../dev/files/cache.ts';
import { startEmbeddedPostgres } from '../dev/postgres/server.ts';
import { startGuard } from '../dev/processes/guard.ts';
import { freePort } from '../dev/processes/ports.ts';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { migrate } from '../src/db/migrate.ts';
import { startHttpServer } from '../src/http/server.ts';
import { composeApi } from '../src/main/compose.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { SECRET_KEYS } from '../test/support/secret-keys.ts';
import { merchantUser, operatorUser, signIn } from '../test/support/users.ts';
import { loadAudit } from './dashboard/audit.ts';
import { loadOrders, orderNumberOf, settle } from './dashboard/data.ts';
import { deliveryIdOf, loadDeliveries, loadWholeOrder } from './dashboard/deliveries.ts';
import type { MeasuredPage, Samples } from './dashboard/pages.ts';
import { PAGES } from './dashboard/pages.ts';
import { registerMerchant } from './fixtures.ts';
import { percentile } from './load.ts';

const READS = 50;
const WARM_UPS = 5;
const TARGET_MS = 100;
const TARGET_BYTES = 50_000;
const FIRST_BYTES = 50_000_000;

/**
 * Measures every page of the dashboard against a merchant with a million orders and 100,000
 * deliveries, on a separate PostgreSQL: the time until the whole response is there, one request at a
 * time over one connection, and its bytes.
 *
 * With `--data FOLDER` the loaded data stays in that folder for the next run; `--orders` loads fewer.
 */
export async function run(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: { data: { type: 'string' }, orders: { type: 'string', default: '1000000' } },
  });
  const folder = values.data ?? (await mkdtemp(join(tmpdir(), 'merchant-orders-bench-')));
  const guard = await startGuard(values.data === undefined ? [folder] : []);
  const dataDir = join(folder, 'postgres');
  const isLoaded = existsSync(dataDir);
  const server = await startEmbeddedPostgres({
    dataDir,
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    cacheRoot: cacheRoot(loadDevConfig().cacheHome),
    log: console.log,
    guard,
    settings: { shared_buffers: '1GB', max_wal_size: '8GB', fsync: 'off' },
  });
  try {
    await migrate(server.adminUrl);
    const sql = connectDatabase(server.adminUrl, { name: 'bench', statementTimeoutMs: 300_000 });
    if (!isLoaded) await load(sql, Number(values.orders));
    await settle(server.adminUrl, sql);
    if (!(await measure(server.adminUrl, sql))) process.exitCode = 1;
    await sql.end();
  } finally {
    await server.stop();
    await guard.release();
    if (values.data === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function load(sql: Sql, orders: number): Promise<void> {
  const startedAt = performance.now();
  const merchantId = await registerMerchant(sql);
  await loadOrders(sql, merchantId, orders);
  const deliveries = Math.ceil(orders / 10);
  await loadDeliveries(sql, merchantId, { first: orders - deliveries + 1, last: orders });
  await loadWholeOrder(sql, (await samplesOf(sql)).completedOrder);
  await loadAudit(sql, merchantId, orders);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`\n${orders} orders and ${deliveries} deliveries loaded in ${seconds} s\n`);
}

async function samplesOf(sql: Sql): Promise<Samples> {
  const [row] = await sql<[{ merchantId: string; orders: number }]>`
    SELECT merchant_id, count(*) AS orders FROM orders GROUP BY merchant_id`;
  const { merchantId, orders } = row;
  // Not a tenth, a fiftieth or a twelfth: those are in other statuses.
  const completed = Math.floor((orders * 0.95) / 600) * 600 + 1;
  return {
    merchantId,
    completedOrder: orderNumberOf(merchantId, completed),
    middleOrder: orderNumberOf(merchantId, Math.floor(orders / 2)),
    disputedOrder: orderNumberOf(merchantId, Math.floor(orders / 1000) * 500 + 7),
    delivery: deliveryIdOf(merchantId, orders - 100),
  };
}

/** The API with its pages, on this database. Nothing that the pages read needs Temporal. */
async function startPages(url: string, sql: Sql) {
  const port = await freePort();
  const config = loadConfig({
    DATABASE_URL: url,
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    API_SECRET_PEPPER: 'a pepper for the benchmark, at least 32 characters',
    WEBHOOK_SECRET_KEYS: SECRET_KEYS,
    DATA_ENCRYPTION_KEYS: SECRET_KEYS,
    DASHBOARD_RATE_LIMIT_PER_SECOND: '100000',
  });
  const log = pino({ level: 'silent' });
  const temporal = connectTemporal({ address: '127.0.0.1:1', namespace: 'bench' });
  const { app, readiness } = await composeApi({ config, sql, temporal, log });
  return startHttpServer(app, { host: '127.0.0.1', port, readiness, readinessGraceMs: 0, log });
}

async function measure(url: string, sql: Sql): Promise<boolean> {
  const samples = await samplesOf(sql);
  const sessions = {
    merchant: await sessionOfMerchant(sql, samples.merchantId),
    operator: (await operatorUser(sql, 'admin')).cookie,
  };
  // The service's own connections, with their time-out.
  const service = connectDatabase(url);
  const server = await startPages(url, service);
  const origin = `http://127.0.0.1:${server.port}`;
  console.log(
    `${'page'.padEnd(34)}${'p50 ms'.padStart(8)}${'p95 ms'.padStart(8)}${'bytes'.padStart(8)}`,
  );
  let isGood = true;
  for (const page of PAGES) {
    const { p50, p95, bytes, status } = await measurePage(
      origin + page.path(samples),
      sessions[page.as],
    );
    const isMet = status === 200 && p95 <= TARGET_MS && bytes <= TARGET_BYTES;
    isGood &&= isMet;
    console.log(lineOf(page, { p50, p95, bytes }) + (isMet ? '' : `  MISSED, status ${status}`));
  }
  console.log(`\np95 ≤ ${TARGET_MS} ms, ${TARGET_BYTES} bytes: ${isGood ? 'met' : 'MISSED'}`);
  await measureCsv(`${origin}/dashboard/sandbox/orders.csv`, sessions.merchant);
  await server.stop();
  await service.end();
  return isGood;
}

/** Reads all orders as one file, and shows what the process needs for it: reader and server are one. */
async function measureCsv(url: string, cookie: string): Promise<void> {
  const megabytes = (bytes: number) => Math.round(bytes / 1e6);
  const before = process.memoryUsage.rss();
  const startedAt = performance.now();
  const { body } = await fetch(url, { headers: { Cookie: cookie } });
  let bytes = 0;
  let most = before;
  let mostAfterFirst = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    most = Math.max(most, process.memoryUsage.rss());
    if (bytes < FIRST_BYTES) mostAfterFirst = most;
  }
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`CSV of all orders: ${megabytes(bytes)} MB in ${seconds} s`);
  console.log(
    `memory: + ${megabytes(mostAfterFirst - before)} MB after the first ${megabytes(FIRST_BYTES)} MB, + ${megabytes(most - before)} MB at the end`,
  );
}

/** A merchant has one user, which an earlier run may have made. */
async function sessionOfMerchant(sql: Sql, merchantId: string): Promise<string> {
  const [user] = await sql<{ userId: string }[]>`
    SELECT user_id FROM users WHERE merchant_id = ${merchantId}`;
  return user ? signIn(sql, user.userId) : (await merchantUser(sql, merchantId)).cookie;
}

const lineOf = ({ name }: MeasuredPage, { p50, p95, bytes }: Record<string, number>) =>
  name.padEnd(34) +
  [p50?.toFixed(1), p95?.toFixed(1), bytes].map((text) => String(text).padStart(8)).join('');

async function measurePage(url: string, cookie: string) {
  const times: number[] = [];
  let bytes = 0;
  let status = 0;
  for (let read = 0; read < WARM_UPS + READS; read += 1) {
    const startedAt = performance.now();
    const response = await fetch(url, { headers: { Cookie: cookie }, redirect: 'manual' });
    ({ byteLength: bytes } = await response.arrayBuffer());
    ({ status } = response);
    if (read >= WARM_UPS) times.push(performance.now() - startedAt);
  }
  return { p50: percentile(times, 0.5), p95: percentile(times, 0.95), bytes, status };
}
