import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { request } from 'undici';
import { startGuard } from '../dev/processes/guard.ts';
import { freePort } from '../dev/processes/ports.ts';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { startHttpServer } from '../src/http/server/server.ts';
import { composeApi } from '../src/main/compose/compose.ts';
import { listAudit } from '../src/merchants/audit-log.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { openSessions, SECRET_KEYS } from './dashboard/sessions.ts';
import { loadAudit } from './dashboard/audit.ts';
import { loadOrders, orderNumberOf, runHousekeeping } from './dashboard/data.ts';
import { deliveryIdOf, loadDeliveries, loadWholeOrder } from './dashboard/deliveries.ts';
import type { Samples } from './dashboard/pages.ts';
import { PAGES } from './dashboard/pages.ts';
import { registerMerchant } from './fixtures.ts';
import { countOption, textOption } from '../src/main/process/command-line.ts';
import type { Benchmark, Measurement, Outcome, Target } from './harness/benchmark.ts';
import { ROUNDS } from './harness/rounds.ts';
import { median, percentile } from './harness/statistics.ts';
import type { Workplace } from './servers.ts';
import { startDatabase, withWorkplace } from './servers.ts';

const READS_PER_ROUND = 20;
const WARM_UPS = 5;
const TARGET_MS = 100;
/** Of a page with its style, script and icons, as they are sent; fonts come after the text can be read. */
const TARGET_BYTES = 60_000;
const FIRST_BYTES = 50_000_000;

const OPTIONS = {
  orders: countOption(undefined, 'the number of orders; 1000000 by default', 1000),
  data: textOption('a folder in which the loaded data stays for the next run'),
} as const;

/** Every page of the dashboard. */
export const benchmark: Benchmark<typeof OPTIONS> = {
  description:
    'Every page of the dashboard of a merchant with a million orders, one request at a time.',
  options: OPTIONS,
  async run({ quick, values }) {
    const orders = values.orders ?? (quick ? 50_000 : 1_000_000);
    const folder = values.data;
    if (folder === undefined) return withWorkplace((place) => measureIn(place, orders));
    const guard = await startGuard();
    const outcome = await measureIn({ folder, guard }, orders);
    await guard.release();
    return outcome;
  },
};

async function measureIn(place: Workplace, orders: number): Promise<Outcome> {
  const isLoaded = existsSync(join(place.folder, 'postgres'));
  const server = await startDatabase(place, { fsync: 'off' });
  const sql = connectDatabase(server.adminUrl, { name: 'bench', statementTimeoutMs: 300_000 });
  if (!isLoaded) await load(sql, orders);
  await runHousekeeping(server.adminUrl, sql);
  const outcome = await measure(server.adminUrl, sql);
  await sql.end();
  await server.stop();
  return outcome;
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
  const [row] = await sql<
    [{ merchantId: string; orders: number; busyDay: string; middleAt: Date }]
  >`
    SELECT merchant_id, count(*) AS orders,
      (SELECT min(at) + (max(at) - min(at)) / 2 FROM audit_log) AS middle_at,
      to_char(indian_day(max(created_at)) - 10, 'YYYY-MM-DD') AS busy_day
    FROM orders GROUP BY merchant_id`;
  const { merchantId, orders } = row;
  const [middle] = (await listAudit(sql, { until: row.middleAt }, 1)).entries;
  // Not a tenth, a fiftieth or a twelfth: those are in other statuses.
  const completed = Math.floor((orders * 0.95) / 600) * 600 + 1;
  return {
    merchantId,
    completedOrder: orderNumberOf(merchantId, completed),
    middleOrder: orderNumberOf(merchantId, Math.floor(orders / 2)),
    disputedOrder: orderNumberOf(merchantId, Math.floor(orders / 1000) * 500 + 7),
    delivery: deliveryIdOf(merchantId, orders - 100),
    middleAudit: middle?.id ?? '',
    busyDay: row.busyDay,
  };
}

/** The API with its pages, on this database. Nothing that the pages read needs Temporal. */
async function startPages(url: string, sql: Sql) {
  const port = await freePort();
  const config = loadConfig({
    DATABASE_URL: url,
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    API_SECRET_PEPPER: 'a pepper for the benchmark of at least 32 characters',
    WEBHOOK_SECRET_KEYS: SECRET_KEYS,
    DATA_ENCRYPTION_KEYS: SECRET_KEYS,
    DASHBOARD_RATE_LIMIT_PER_SECOND: '100000',
  });
  const log = pino({ level: 'silent' });
  const temporal = connectTemporal({ address: '127.0.0.1:1', namespace: 'bench' });
  const { app, readiness } = await composeApi({ config, sql, temporal, log });
  return startHttpServer(app, { host: '127.0.0.1', port, readiness, readinessGraceMs: 0, log });
}

async function measure(url: string, sql: Sql): Promise<Outcome> {
  const samples = await samplesOf(sql);
  const sessions = await openSessions(sql, samples.merchantId);
  // The service's own connections, with their time-out.
  const service = connectDatabase(url);
  const server = await startPages(url, service);
  const origin = `http://127.0.0.1:${server.port}`;
  const measurements: Measurement[] = [];
  const targets: Target[] = [];
  const failures: string[] = [];
  for (const page of PAGES) {
    const { p50, p95, bytes, status } = await measurePage(
      origin + page.path(samples),
      sessions[page.as],
    );
    const { name } = page;
    console.log(`${name.padEnd(40)}${median(p95).toFixed(1).padStart(8)} ms`);
    if (status !== 200) failures.push(`${name}: status ${status}`);
    measurements.push(
      { id: `${name}-p50`, title: `${name}, half within`, unit: 'ms', rounds: p50 },
      { id: `${name}-p95`, title: `${name}, 95 of 100 within`, unit: 'ms', rounds: p95 },
      { id: `${name}-bytes`, title: name, unit: 'bytes', rounds: [bytes] },
    );
    targets.push(
      { of: `${name}-p95`, atMost: TARGET_MS },
      { of: `${name}-bytes`, atMost: TARGET_BYTES },
    );
  }
  const csv = await measureCsv(`${origin}/dashboard/sandbox/orders.csv`, sessions.merchant);
  await server.stop();
  await service.end();
  return { measurements: [...measurements, ...csv], targets, failures };
}

/** Reads all orders as one file, and shows what the process needs for it: reader and server are one. */
async function measureCsv(url: string, cookie: string): Promise<Measurement[]> {
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
  const figure = (id: string, title: string, unit: string, value: number) => ({
    id,
    title,
    unit,
    rounds: [value],
  });
  const seconds = (performance.now() - startedAt) / 1000;
  return [
    figure('csv-bytes', 'CSV of all orders', 'MB', bytes / 1e6),
    figure('csv-seconds', 'CSV of all orders', 'seconds', seconds),
    figure(
      'csv-first',
      'added by the first 50 MB of it',
      'MB of memory',
      (mostAfterFirst - before) / 1e6,
    ),
    figure('csv-all', 'added by all of it', 'MB of memory', (most - before) / 1e6),
  ];
}

async function measurePage(url: string, cookie: string) {
  const p50: number[] = [];
  const p95: number[] = [];
  let page: Buffer = Buffer.alloc(0);
  let status = 0;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const times: number[] = [];
    for (let read = 0; read < (round === 0 ? WARM_UPS : READS_PER_ROUND); read += 1) {
      const startedAt = performance.now();
      const answer = await sent(url, cookie);
      ({ status } = answer);
      page = answer.body;
      times.push(performance.now() - startedAt);
    }
    if (round === 0) continue;
    p50.push(percentile(times, 0.5));
    p95.push(percentile(times, 0.95));
  }
  const bytes = page.length + (await bytesOfFiles(url, gunzipped(page)));
  return { p50, p95, bytes, status };
}

/** A response as it is sent: `fetch` would unpack it. */
async function sent(url: string, cookie = '') {
  const headers = { Cookie: cookie, 'Accept-Encoding': 'gzip' };
  const { statusCode, body } = await request(url, { headers });
  return { status: statusCode, body: Buffer.from(await body.arrayBuffer()) };
}

const gunzipped = (body: Buffer) => (body[0] === 0x1f ? gunzipSync(body) : body).toString();

/** The size of the files that a page names: browsers keep them, so that only the first page needs them. */
async function bytesOfFiles(url: string, page: string): Promise<number> {
  const names = page.matchAll(/(?:href|src)="([^"#]+\.(?:css|js|svg))/g);
  const files = new Set(Array.from(names, ([, name]) => new URL(name ?? '', url).href));
  const bodies = await Promise.all(Array.from(files, async (file) => (await sent(file)).body));
  return bodies.reduce((sum, { length }) => sum + length, 0);
}
