import { gunzipSync } from 'node:zlib';
import { pino } from 'pino';
import { request } from 'undici';
import { freePort } from '../dev/processes/ports.ts';
import { ensureMerchantUser, ensureOperator, OPERATOR_EMAILS } from '../dev/start/demo-users.ts';
import { createSession } from '../src/accounts/log-in/sessions.ts';
import { findUserByEmail } from '../src/accounts/people/users.ts';
import { SESSION_COOKIE } from '../src/accounts/public.ts';
import { loadConfig } from '../src/config.ts';
import type { Sql } from '../src/db/client.ts';
import { connectDatabase } from '../src/db/client.ts';
import { startHttpServer } from '../src/http/server/server.ts';
import { composeApi } from '../src/main/compose/compose.ts';
import { countOption } from '../src/main/process/command-line.ts';
import { listAudit } from '../src/merchants/audit-log.ts';
import { requireMerchant } from '../src/merchants/queries.ts';
import { createSecretBox } from '../src/secret-box.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { deliveryIdOf, loadAudit, loadDeliveries, loadWholeOrder } from './dashboard/data.ts';
import type { Samples } from './dashboard/pages.ts';
import { PAGES } from './dashboard/pages.ts';
import { registerMerchant } from './fixtures.ts';
import type { Benchmark, Measurement, Outcome, Target } from './harness/benchmark.ts';
import { median, percentile, ROUNDS } from './harness/rounds.ts';
import { loadOrders, orderNumberOf, runHousekeeping } from './loaded-orders.ts';
import { startDatabase, withWorkplace } from './servers.ts';

const READS_PER_ROUND = 20;
const WARM_UPS = 5;
const TARGET_MS = 100;
/** The largest size, as sent, of a page with its style, script and icons. Fonts, which load later, do not count. */
const TARGET_BYTES = 60_000;
const SECRET_KEYS = `bench:${Buffer.alloc(32, 7).toString('base64')}`;

const OPTIONS = {
  orders: countOption(undefined, 'the number of orders; 1000000 by default', 1000),
} as const;

export const benchmark: Benchmark<typeof OPTIONS> = {
  description:
    'Every page of the dashboard of a merchant with a million orders, one request at a time.',
  options: OPTIONS,
  run: ({ quick, values }) =>
    withWorkplace(async (place) => {
      const server = await startDatabase(place, { fsync: 'off' });
      const sql = connectDatabase(server.adminUrl, { name: 'bench', statementTimeoutMs: 300_000 });
      const samples = await load(sql, values.orders ?? (quick ? 50_000 : 1_000_000));
      await runHousekeeping(server.adminUrl, sql);
      const outcome = await measure(server.adminUrl, sql, samples);
      await sql.end();
      await server.stop();
      return outcome;
    }),
};

/** Loads orders of one merchant, with what belongs to them. @returns what pages are measured with */
async function load(sql: Sql, orders: number): Promise<Samples> {
  const startedAt = performance.now();
  const merchantId = await registerMerchant(sql);
  await loadOrders(sql, merchantId, orders);
  const deliveries = Math.ceil(orders / 10);
  await loadDeliveries(sql, merchantId, { first: orders - deliveries + 1, last: orders });
  // Not a tenth, a fiftieth or a twelfth: those are in other statuses.
  const completed = Math.floor((orders * 0.95) / 600) * 600 + 1;
  const completedOrder = orderNumberOf(merchantId, completed);
  await loadWholeOrder(sql, completedOrder);
  await loadAudit(sql, merchantId, orders);
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
  console.log(`\n${orders} orders and ${deliveries} deliveries loaded in ${seconds} s\n`);
  const [row] = await sql<[{ busyDay: string; middleAt: Date }]>`
    SELECT to_char(indian_day(max(created_at)) - 10, 'YYYY-MM-DD') AS busy_day,
      (SELECT min(at) + (max(at) - min(at)) / 2 FROM audit_log) AS middle_at
    FROM orders`;
  const [middle] = (await listAudit(sql, { until: row.middleAt }, 1)).entries;
  return {
    merchantId,
    completedOrder,
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

/** Creates a user of the merchant and an operator. @returns a Cookie header for each */
async function openSessions(sql: Sql, merchantId: string) {
  const deps = { sql, dataBox: createSecretBox(SECRET_KEYS) };
  const cookieOf = async ({ email }: { email: string }) => {
    const user = await findUserByEmail(sql, email);
    if (!user) throw new Error(`There is no user ${email}`);
    const client = { address: '127.0.0.1', userAgent: 'bench' };
    return `${SESSION_COOKIE}=${await createSession({ sql }, user.userId, client)}`;
  };
  const merchant = await requireMerchant(sql, merchantId);
  return {
    merchant: await cookieOf(await ensureMerchantUser(deps, merchant, undefined)),
    operator: await cookieOf(await ensureOperator(deps, OPERATOR_EMAILS[0], undefined)),
  };
}

async function measure(url: string, sql: Sql, samples: Samples): Promise<Outcome> {
  const sessions = await openSessions(sql, samples.merchantId);
  // The service's own connections, with their time-out.
  const service = connectDatabase(url);
  const server = await startPages(url, service);
  const origin = `http://127.0.0.1:${server.port}`;
  const measurements: Measurement[] = [];
  const targets: Target[] = [];
  const failures: string[] = [];
  for (const { name, as, path } of PAGES) {
    const { p50, p95, bytes, status } = await measurePage(origin + path(samples), sessions[as]);
    console.log(`${name.padEnd(40)}${median(p95).toFixed(1).padStart(8)} ms`);
    if (status !== 200) failures.push(`${name}: status ${status}`);
    measurements.push(
      { id: `${name}-p50`, title: `${name}, 50 of 100 within`, unit: 'ms', rounds: p50 },
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

async function measureCsv(url: string, cookie: string): Promise<Measurement[]> {
  const startedAt = performance.now();
  const { body } = await fetch(url, { headers: { Cookie: cookie } });
  let bytes = 0;
  for await (const part of body ?? []) bytes += part.length;
  const seconds = (performance.now() - startedAt) / 1000;
  const title = 'CSV of all orders';
  return [
    { id: 'csv-size', title, unit: 'MB', rounds: [bytes / 1e6] },
    { id: 'csv-seconds', title, unit: 'seconds', rounds: [seconds] },
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
      ({ status, body: page } = await sent(url, cookie));
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
