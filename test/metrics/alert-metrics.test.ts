import { pino } from 'pino';
import postgres from 'postgres';
import { expect, inject, onTestFinished } from 'vitest';
import { clearAlert, raiseAlert } from '../../src/alerts/alerts.ts';
import { ALERT_KINDS } from '../../src/alerts/kinds.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { COLUMN_NAMES } from '../../src/db/client.ts';
import { createReadiness } from '../../src/http/server/readiness.ts';
import { startMetrics } from '../../src/main/process/metrics.ts';
import { alertMetrics } from '../../src/metrics/alerts.ts';
import { createMetrics } from '../../src/metrics/registry.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import { databaseTest } from '../support/fixtures.ts';

const OPEN = 'payment_order_service_alerts_open';
const RAISED = 'payment_order_service_alerts_raised_total';

const log = pino({ level: 'silent' });
const test = databaseTest();

/** The metrics of this process, over HTTP. */
async function serve(databaseUrl: string) {
  const metricsPort = await freePort();
  const measured = {
    name: 'api',
    readiness: createReadiness({}),
    databaseUrl,
    // It answers at once that there is no such namespace.
    temporal: connectTemporal({ address: inject('temporalAddress'), namespace: 'none' }),
    log,
  };
  const metrics = await startMetrics({ host: '127.0.0.1', metricsPort }, measured);
  onTestFinished(() => metrics.stop());
  return `http://127.0.0.1:${metricsPort}`;
}

const scrape = async (origin: string) => {
  const answer = await fetch(`${origin}/metrics`);
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    text: await answer.text(),
  };
};

const samplesOf = (name: string, text: string) =>
  Object.fromEntries(
    [...text.matchAll(new RegExp(`^${name}\\{kind="(\\w+)"\\} (\\S+)$`, 'gm'))].map(
      ([, kind, value]) => [kind, Number(value)],
    ),
  );

const alertAbout = (subject: string) => ({
  kind: 'gateway_refused' as const,
  subject,
  message: `About ${subject}`,
});

test('open alerts are counted in the database and raised ones in this process, each kind separately', async ({
  database: { serviceSql: sql, url },
}) => {
  const origin = await serve(url);
  const none = Object.fromEntries(Object.keys(ALERT_KINDS).map((kind) => [kind, 0]));
  // What the database does not answer in time is left out.
  const open = async () => samplesOf(OPEN, (await scrape(origin)).text);
  await expect.poll(open).toEqual(none);
  expect(samplesOf(RAISED, (await scrape(origin)).text)).toEqual(none);

  const deps = { sql, log };
  for (const subject of ['ORD1', 'ORD2', 'ORD1']) await raiseAlert(deps, alertAbout(subject));
  // Another process has raised this one.
  await sql`INSERT INTO alerts (kind, subject, details) VALUES ('clock_skew', 'worker', '{}')`;
  const { status, type, text } = await scrape(origin);
  expect([status, type]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  await expect.poll(open).toEqual({ ...none, gateway_refused: 2, clock_skew: 1 });
  expect(samplesOf(RAISED, text)).toEqual({ ...none, gateway_refused: 3 });
  expect(text).toMatch(/^process_cpu_seconds_total \d/m);

  await clearAlert(sql, 'gateway_refused', 'ORD1', 'test');
  await expect.poll(open).toMatchObject({ gateway_refused: 1 });
  expect(samplesOf(RAISED, (await scrape(origin)).text)).toMatchObject({ gateway_refused: 3 });
});

test('a scrape is one statement', async ({ database: { url } }) => {
  const statements: string[] = [];
  const watched = postgres(url, {
    max: 1,
    transform: COLUMN_NAMES,
    fetch_types: false,
    debug: (_connection, statement) => void statements.push(statement),
  });
  const metrics = createMetrics([alertMetrics({ sql: watched, log })]);
  await metrics.text();
  metrics.close();
  await watched.end();
  expect(statements).toHaveLength(1);
});

test('without a database only the other metrics are served', async () => {
  const origin = await serve(`postgres://nobody@127.0.0.1:${await freePort()}/nothing`);
  const { status, text } = await scrape(origin);
  expect(status).toBe(200);
  expect(samplesOf(OPEN, text)).toEqual({});
  expect(samplesOf(RAISED, text)).toMatchObject({ gateway_refused: 0 });
  expect(text).toMatch(/^process_resident_memory_bytes \d/m);
});

test('no other path is served, and no other method is accepted', async ({ database: { url } }) => {
  const origin = await serve(url);
  for (const path of ['/', '/healthz', '/metrics/', '/openapi.json']) {
    expect((await fetch(origin + path)).status, path).toBe(404);
  }
  const posted = await fetch(`${origin}/metrics`, { method: 'POST', body: 'x' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
});
