import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { startGuard, type Guard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { startServerProcess } from '../../dev/processes/server-process.ts';
import type { TemporalServer } from '../../dev/processes/temporal-process.ts';
import { startTemporalServer } from '../../dev/temporal-on-postgres/server.ts';
import { loadConfig } from '../../src/config.ts';
import { adminCli } from '../support/admin-cli.ts';
import { startApiKeyProxy } from '../support/api-key-proxy.ts';
import {
  createAuthority,
  type Authority,
  type Certificate,
} from '../../dev/processes/certificates.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { createTestMerchant } from '../support/merchant.ts';
import { PART_ENVIRONMENT } from '../support/part-environment.ts';
import { runPart } from '../support/run-part.ts';
import { SECRET_KEYS } from '../support/secret-keys.ts';
import { newTemporalPlace, type TemporalPlace } from '../support/temporal-place.ts';
import { until } from '../support/until.ts';

const HOSTS = 'DNS:localhost,IP:127.0.0.1';
const REPOSITORY = join(import.meta.dirname, '../..');

let folder: string;
let guard: Guard;
let place: TemporalPlace;
/** A Temporal server that requires certificates of its clients. */
let temporal: TemporalServer;
let database: TestDatabase;
let authority: Authority;
let stranger: Authority;
let client: Certificate;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'merchant-orders-tls-'));
  guard = await startGuard([folder]);
  authority = createAuthority(folder, 'authority');
  stranger = createAuthority(folder, 'stranger');
  client = authority.issue('client');
  const certificate = authority.issue('temporal', HOSTS);
  place = await newTemporalPlace(folder, guard);
  const tls = { ...certificate, caFile: authority.certFile, serverName: 'localhost' };
  temporal = await startTemporalServer({ ...place.options, tls });
  database = await createTestDatabase();
});

afterAll(async () => {
  await database?.drop();
  await temporal?.stop();
  await place?.stop();
  await guard?.release();
  await rm(folder, { recursive: true, force: true });
});

/** The settings of the service without those of TLS. */
function settings(temporalAddress: string): Record<string, string> {
  const ownerUrl = new URL(inject('postgresAdminUrl'));
  ownerUrl.pathname = new URL(database.url).pathname;
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    DATABASE_URL: database.url,
    MIGRATION_DATABASE_URL: ownerUrl.href,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_NAMESPACE: 'orders',
    API_SECRET_PEPPER: 'a pepper of at least 32 characters for the tests',
    WEBHOOK_SECRET_KEYS: SECRET_KEYS,
    DATA_ENCRYPTION_KEYS: SECRET_KEYS,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  };
}

const trust = ({ certFile }: Certificate) => ({ TEMPORAL_TLS_SERVER_CA_CERT_PATH: certFile });

const present = ({ certFile, keyFile }: Certificate) => ({
  TEMPORAL_TLS_CLIENT_CERT_PATH: certFile,
  TEMPORAL_TLS_CLIENT_KEY_PATH: keyFile,
});

/** Starts a process of the service for one test. @returns once it is ready */
async function start(entry: string, env: Record<string, string>, readyUrl?: string) {
  const server = await startServerProcess({
    file: process.execPath,
    args: [join(REPOSITORY, entry)],
    env: { ...PART_ENVIRONMENT, ...env },
    logFile: join(folder, 'logs', `${entry.replaceAll('/', '-')}.log`),
    stopSteps: [{ signal: 'SIGTERM', waitMs: 5000 }],
    reportsReady: true,
    guard,
  });
  onTestFinished(() => server.stop());
  if (readyUrl === undefined) return server.ready;
  const isReady = () =>
    fetch(readyUrl).then(
      ({ ok }) => ok,
      () => false,
    );
  return until(isReady);
}

/** Migrates, starts an API and a worker, and brings an order from its creation to its end. */
async function runOrder(env: Record<string, string>): Promise<string> {
  const migration = await runPart('src/main/migrate.ts', env);
  expect(migration, migration.stderr).toMatchObject({ code: 0, stderr: '' });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  await Promise.all([
    start('src/main/api.ts', { ...env, PORT: String(port) }, `${origin}/readyz`),
    start('src/main/worker.ts', env),
  ]);
  const deps = { config: loadConfig(env), sql: database.serviceSql, origin };
  const merchant = await createTestMerchant({ ...deps, now: async () => Date.now() }, {});
  onTestFinished(() => merchant.receiver.stop());
  const order = await merchant.sandbox.create();
  // The first task of a worker that has just started can take longer than the API waits.
  const cancel = () =>
    merchant.sandbox.post(
      `/orders/${order.order_number}/cancel`,
      {},
      { 'Idempotency-Key': order.order_number },
    );
  await until(async () => (await cancel()).body.data?.status === 'CANCELLED');
  await merchant.receiver.until(1, ({ event }) => event === 'ORDER_CANCELLED');
  return order.order_number;
}

describe('a Temporal server that requires client certificates', () => {
  test('serves API, worker, migration, replay and admin that have one', async () => {
    const env = { ...settings(temporal.address), ...trust(authority), ...present(client) };
    const orderNumber = await runOrder(env);
    const shown = () => adminCli(env).json('order', 'show', '--order', orderNumber);
    await expect.poll(shown).toMatchObject({ workflows: [{ status: 'COMPLETED' }] });
    const replay = await runPart('dev/admin.ts', env, ['worker', 'replay', '--json']);
    expect(JSON.parse(replay.stdout)).toMatchObject({ replayed: 1, failures: [] });
  });

  const ENTRIES = ['src/main/api.ts', 'src/main/worker.ts', 'src/main/migrate.ts'] as const;

  /** Runs every process to its end. @returns what they write, which must be one line each */
  async function refusals(given: Record<string, string>, address = temporal.address) {
    const env = { ...settings(address), ...given, PORT: String(await freePort()) };
    const results = await Promise.all([
      ...ENTRIES.map((entry) => runPart(entry, { ...env, LOG_LEVEL: 'silent' })),
      adminCli(env).run('worker', 'replay'),
    ]);
    expect(results.map(({ code }) => code)).toEqual([1, 1, 1, 1]);
    return new Set(results.map(({ stderr }) => stderr));
  }

  test('refuses those without one; the line names the setting', async () => {
    const [line, ...others] = await refusals(trust(authority));
    expect(line).toMatch(
      /^Temporal at 127\.0\.0\.1:\d+ requires a client certificate that it trusts: set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH \(.*\)\n$/,
    );
    expect(others).toEqual([]);
  });

  test('refuses those with a certificate of another authority', async () => {
    const lines = await refusals({ ...trust(authority), ...present(stranger.issue('intruder')) });
    expect([...lines]).toEqual([
      expect.stringMatching(
        /requires a client certificate that it trusts: set TEMPORAL_TLS_CLIENT/,
      ),
    ]);
  });

  test('is refused when another authority issued its certificate', async () => {
    const lines = await refusals({ ...trust(stranger), ...present(client) });
    expect([...lines]).toEqual([
      expect.stringMatching(
        /^Temporal's certificate at .* cannot be verified: TEMPORAL_TLS_SERVER_CA_CERT_PATH accepts .*\n$/,
      ),
    ]);
  });

  test('is refused when its certificate has another name', async () => {
    const name = { TEMPORAL_TLS_SERVER_NAME: 'temporal.example' };
    const lines = await refusals({ ...trust(authority), ...present(client), ...name });
    expect([...lines]).toEqual([
      expect.stringMatching(/^Temporal's certificate .* set TEMPORAL_TLS_SERVER_NAME to .*\n$/),
    ]);
  });

  test('ends plain connections; the worker names the setting', async () => {
    const env = { ...settings(temporal.address), LOG_LEVEL: 'silent' };
    const { code, stderr } = await runPart('src/main/worker.ts', env);
    const line = `Temporal at ${temporal.address} ends the connection: set TEMPORAL_TLS if it requires TLS\n`;
    expect([code, stderr]).toEqual([1, line]);
  });

  test('a plain server that should use TLS is refused', async () => {
    const lines = await refusals({ TEMPORAL_TLS: 'true' }, inject('temporalAddress'));
    expect([...lines]).toEqual([
      expect.stringMatching(/^Temporal at .* does not accept TLS: set TEMPORAL_TLS to false .*\n$/),
    ]);
  });
});

test('an API key is sent with each call, over TLS; a wrong one ends the worker in one line', async () => {
  const certificate = authority.issue('cloud', HOSTS);
  const proxy = await startApiKeyProxy(inject('temporalAddress'), 'the-key', certificate);
  onTestFinished(() => proxy.stop());
  const env = {
    ...settings(proxy.address),
    ...trust(authority),
    TEMPORAL_NAMESPACE: `cloud-${process.pid}`,
    TEMPORAL_API_KEY: 'the-key',
  };
  await runOrder(env);
  expect(new Set(proxy.authorizations)).toEqual(new Set(['Bearer the-key']));

  const wrong = { ...env, TEMPORAL_API_KEY: 'wrong', LOG_LEVEL: 'silent' };
  const { code, stderr } = await runPart('src/main/worker.ts', wrong);
  expect([code, stderr]).toEqual([
    1,
    `Temporal at ${proxy.address} refuses the API key (TEMPORAL_API_KEY)\n`,
  ]);
  // The processes with the right key still call, so the wrong one need not be the last.
  expect(new Set(proxy.authorizations)).toEqual(new Set(['Bearer the-key', 'Bearer wrong']));
});
