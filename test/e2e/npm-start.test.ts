import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { DevFacts } from '../../dev/dev-facts.ts';
import { startGuard, type Guard } from '../../dev/processes/guard.ts';
import { freePort, freePortSettings } from '../../dev/processes/ports.ts';
import { findProcesses, isRunning, sendSignal } from '../../dev/processes/process-table.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { sendMail } from '../../src/mail/public.ts';
import type { Order } from '../../src/orders/schemas.ts';
import { createSecretBox } from '../../src/secret-box.ts';
import { createMailWorkflows } from '../../src/temporal/mail-workflows.ts';
import { adminProcess } from '../support/admin-cli.ts';
import { createApiClient } from '../support/api-client.ts';
import { linesIn } from '../support/log-lines.ts';
import { REPOSITORY, runNpm, untilReady, type NpmRun } from '../support/npm-run.ts';

// Three complete starts take long on a machine that runs other tests meanwhile.
vi.setConfig({ testTimeout: 120_000 });

/** One installation; the tests run in order, and each continues where the one before ended. */
const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-npm-start-'));
const dataDir = join(folder, 'data');
/** The time left to an order when everything is killed: enough to check that it is still open. */
const LEFT_SECONDS = 4;

let guard: Guard;
let settings: Record<string, string>;
const runs: NpmRun[] = [];
let service: NpmRun;
let facts: DevFacts;
let paid: Order;
let delivered: Order;

const sandbox = () => createApiClient(facts.apiBaseUrl, facts.demoMerchant.sandbox, 'sandbox');
const read = async (order: Order) =>
  (await sandbox().get(`/orders/${order.order_number}`)).body.data;

async function startService(): Promise<void> {
  service = runNpm(['start'], settings);
  const { pid, ended } = service;
  runs.push(service);
  guard.watch(pid, 'SIGTERM');
  void ended.then(() => guard.unwatch(pid));
  facts = await untilReady(service, dataDir);
}

/** Moves the clock of a delivered order to just before its end. @returns when that is, in ms */
async function almostComplete(order: Order): Promise<number> {
  const { completes_at: endsAt } = await read(order);
  const seconds = Math.floor((Date.parse(endsAt ?? '') - Date.now()) / 1000) - LEFT_SECONDS;
  const advanced = await sandbox().help(order, 'advance', { seconds });
  expect(advanced.body.data.status).toBe('DELIVERED');
  return Date.parse(advanced.body.data.completes_at ?? '');
}

const untilPast = (timeMs: number) =>
  vi.waitUntil(() => Date.now() > timeMs, { timeout: 10_000, interval: 20 });
/** A worker that was killed while it moved the order's money keeps the lease on it for a minute. */
const untilCompleted = (order: Order) =>
  vi.waitUntil(async () => (await read(order)).status === 'COMPLETED', {
    timeout: 140_000,
    interval: 250,
  });
const untilGone = (pids: readonly number[]) =>
  expect.poll(() => pids.filter(isRunning), { timeout: 10_000, interval: 20 }).toEqual([]);

beforeAll(async () => {
  guard = await startGuard([folder]);
  settings = { ...(await freePortSettings()), DATA_DIR: dataDir, SWEEP_AFTER_SECONDS: '2' };
  await startService();
});

afterAll(async () => {
  await Promise.all(runs.map((run) => run.stop()));
  await guard?.release();
  await rm(folder, { recursive: true, force: true });
});

describe('npm start, once it is ready,', () => {
  test('writes to dev.json, readable only by its owner, where everything is', async () => {
    expect(statSync(join(dataDir, 'dev.json')).mode & 0o777).toBe(0o600);
    const { PORT, TEMPORAL_PORT, TEMPORAL_UI_PORT } = settings;
    const keys = { apiKey: expect.any(String), apiSecret: expect.any(String) };
    expect(facts).toMatchObject({
      apiBaseUrl: `http://127.0.0.1:${PORT}`,
      sandboxBasePath: '/sandbox/api/merchant/v1',
      productionBasePath: '/api/merchant/v1',
      temporalAddress: `127.0.0.1:${TEMPORAL_PORT}`,
      temporalUiUrl: `http://127.0.0.1:${TEMPORAL_UI_PORT}`,
      demoMerchant: { merchantId: expect.any(String), sandbox: keys, production: keys },
    });
    const production = createApiClient(
      facts.apiBaseUrl,
      facts.demoMerchant.production,
      'production',
    );
    expect((await production.get('/orders')).status).toBe(200);
    expect((await fetch(facts.temporalUiUrl ?? '')).status).toBe(200);
  });

  test('prints the addresses, the keys, and a curl line that creates an order unchanged', async () => {
    const printed = service.stdout();
    const { sandbox: ofSandbox, production } = facts.demoMerchant;
    for (const fact of [facts.apiBaseUrl, facts.temporalUiUrl, ofSandbox.apiSecret]) {
      expect(printed).toContain(fact);
    }
    expect(printed).toContain(production.apiSecret);
    const { merchant, operator } = facts.demoUsers;
    for (const fact of [`${facts.apiBaseUrl}/dashboard/login`, merchant.email, merchant.password]) {
      expect(printed).toContain(fact);
    }
    expect(printed).toContain(
      `${operator.email}    ${operator.password}    six-digit code: ${facts.mailboxUrl}`,
    );
    const line = printed.split('\n').find((one) => one.startsWith('curl ')) ?? '';
    // curl itself prints the status, without a change to the line.
    writeFileSync(join(folder, '.curlrc'), String.raw`write-out = "\n%{http_code}"`);
    const env = { PATH: process.env['PATH'], CURL_HOME: folder };
    const [body = '', status] = execFileSync('sh', ['-c', line], { env, encoding: 'utf8' }).split(
      '\n',
    );
    expect(status).toBe('201');
    const { data } = JSON.parse(body) as { data: Order };
    expect(await read(data)).toMatchObject({ order_number: data.order_number, amount: 499.5 });
  });

  test('lets npm run demo show a complete order with only the same DATA_DIR', async () => {
    const demo = runNpm(['run', 'demo'], { DATA_DIR: dataDir });
    expect(await demo.ended).toEqual([0, null]);
    const webhooks = demo.stdout().matchAll(/webhook \d: (\w+) .*signature verified/g);
    expect([...webhooks].map(([, event]) => event)).toEqual([
      'ORDER_CREATED',
      'PAYMENT_SUCCESS',
      'DELIVERY_CONFIRMED',
      'DISPUTE_RAISED',
      'DISPUTE_RESOLVED',
      'ORDER_COMPLETED',
    ]);
  });

  test('writes a log for each part in which every line is JSON', () => {
    const logOf = (part: string) => linesIn(join(dataDir, 'logs', `${part}.log`));
    expect(logOf('seed')).toEqual([]);
    for (const part of ['api', 'worker', 'migrate', 'gateway-simulator']) {
      const lines = logOf(part);
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) expect(line).toMatchObject({ name: part, msg: expect.any(String) });
    }
    const paying = { msg: 'request', method: 'POST', route: '/upi/:id', status: 303 };
    expect(logOf('gateway-simulator')).toContainEqual(expect.objectContaining(paying));
  });
});

test('a busy port and a wrong setting are reported in one line each, with exit code 1 before anything starts', async () => {
  const elsewhere = { ...(await freePortSettings()), DATA_DIR: join(folder, 'elsewhere') };
  const { POSTGRES_PORT } = settings;
  const portInUse = runNpm(['start'], { ...elsewhere, POSTGRES_PORT: POSTGRES_PORT ?? '' });
  const wrong = runNpm(['start'], { ...elsewhere, COMPLETION_WINDOW_SECONDS: 'a day' });
  expect(await Promise.all([portInUse.ended, wrong.ended])).toEqual([
    [1, null],
    [1, null],
  ]);
  expect(portInUse.errorLines()).toEqual([
    `Port ${POSTGRES_PORT} is already in use: stop what uses it, or set POSTGRES_PORT to another port`,
  ]);
  expect(wrong.errorLines()).toEqual([
    'COMPLETION_WINDOW_SECONDS is wrong: it accepts a number of seconds from 0.001 to 7776000 (90 days)',
  ]);
  expect(existsSync(join(elsewhere.DATA_DIR, 'postgres'))).toBe(false);
});

test('a list of workflows is a list of orders: housekeeping has a separate namespace', async () => {
  const connection = await Connection.connect({ address: facts.temporalAddress });
  const typesIn = async (namespace: string) => {
    const client = new Client({ connection, namespace });
    const types = new Set<string>();
    for await (const { type } of client.workflow.list()) types.add(type);
    return [...types];
  };
  const housekeeping = () => typesIn('default-housekeeping');
  await expect.poll(housekeeping, { timeout: 30_000 }).toContain('sweepUnstartedOrders');
  expect(await typesIn('default')).toEqual(['order']);
  await connection.close();
});

test('the mails of the service are kept in DATA_DIR, and a page shows them', async () => {
  const { environment, mailboxUrl = '', temporalAddress } = facts;
  expect(mailboxUrl).toBe(`http://127.0.0.1:${settings['MAILBOX_PORT']}`);
  expect(service.stdout()).toContain(mailboxUrl);
  const sql = connectDatabase(environment['DATABASE_URL'] ?? '');
  const connection = await Connection.connect({ address: temporalAddress });
  const mailBox = createSecretBox(environment['DATA_ENCRYPTION_KEYS'] ?? '');
  const mails = createMailWorkflows(new Client({ connection, namespace: 'default' }));
  const text = `Confirm your address: ${facts.apiBaseUrl}/docs`;
  await sendMail({ sql, mailBox, mails }, { to: 'asha@example.com', subject: 'Welcome', text });
  const page = async (path: string) => (await fetch(`${mailboxUrl}${path}`)).text();
  await expect.poll(() => page('/'), { timeout: 30_000 }).toContain('Welcome');
  const [, path = ''] = /href="(\/mails\/[^"]+)"/.exec(await page('/')) ?? [];
  expect(await page(path)).toContain(`<a href="${facts.apiBaseUrl}/docs"`);
  expect(await page('/')).toMatch(/Sign-in codes.*>\d{3} \d{3}</s);
  expect(linesIn(join(dataDir, 'logs', 'mailbox.log'))).toMatchObject([
    { name: 'mailbox', msg: 'The mailbox receives mails' },
    { name: 'mailbox', msg: 'A mail was received' },
  ]);
  expect(readdirSync(join(dataDir, 'mails'))).toEqual([`${path.replace('/mails/', '')}.eml`]);
  await sql.end();
  await connection.close();
});

test.each(['demo-merchant.json', 'demo-users.json', 'secrets.json', 'npm-start.lock'])(
  'a damaged %s is reported in one line that names it, with exit code 1 before anything starts',
  async (name) => {
    const DATA_DIR = mkdtempSync(join(folder, 'damaged-'));
    writeFileSync(join(DATA_DIR, name), '{"merchantId": "mer_01');
    const run = runNpm(['start'], { ...(await freePortSettings()), DATA_DIR });
    expect(await run.ended).toEqual([1, null]);
    expect(run.errorLines()).toEqual([expect.stringContaining(join(DATA_DIR, name))]);
    expect(existsSync(join(DATA_DIR, 'postgres'))).toBe(false);
  },
);

describe('when the worker is killed', () => {
  let endMs: number;

  test('npm start ends completely with a line that says so and exit code 1, and leaves no process', async () => {
    const { merchantId } = facts.demoMerchant;
    const url = `http://127.0.0.1:${await freePort()}/webhooks`;
    const webhook = ['--merchant', merchantId, '--environment', 'sandbox', '--url', url];
    await adminProcess({ DATA_DIR: dataDir }).json('webhook', 'set', ...webhook);
    paid = await sandbox().create();
    delivered = await sandbox().create();
    for (const order of [paid, delivered]) await sandbox().help(order, 'pay');
    await sandbox().post(`/orders/${delivered.order_number}/deliver`, { trackingId: 'IN1' });
    const family = service.family();
    const workers = findProcesses(join(REPOSITORY, 'src/main/worker.ts'), `--run-of=${dataDir}`);
    expect(workers).toEqual([expect.any(Number)]);
    expect(family).toContain(workers[0]);
    endMs = await almostComplete(delivered);

    for (const worker of workers) process.kill(worker, 'SIGKILL');
    expect(Date.now()).toBeLessThan(endMs);
    expect(await service.ended).toEqual([1, null]);
    const log = join(dataDir, 'logs', 'worker.log');
    expect(service.errorLines()).toEqual([`Worker ended (killed by SIGKILL); its log: ${log}`]);
    await untilGone(family);
    expect(existsSync(join(dataDir, 'dev.json'))).toBe(false);
  });

  test('npm start continues with the same keys, the open orders, and a timer that became due meanwhile', async () => {
    const { merchantId, sandbox: before, production } = facts.demoMerchant;
    const { demoUsers } = facts;
    await untilPast(endMs);
    await startService();
    const webhookSecret = expect.stringMatching(/^whsec_/);
    expect(facts.demoMerchant).toEqual({
      merchantId,
      sandbox: { ...before, webhookSecret },
      production,
    });
    expect(facts.demoUsers).toEqual(demoUsers);
    expect((await read(paid)).status).toBe('PAID');
    await untilCompleted(delivered);
    const { body } = await sandbox().post(`/orders/${paid.order_number}/deliver`, {});
    expect(body.data.status).toBe('DELIVERED');
  });
});

/** The killed worker may have held the lease of the payment, which ends a minute after it was taken. */
const WITH_A_LEASE = { timeout: 240_000 };

test(
  'after all of its processes were killed, npm start continues as before',
  WITH_A_LEASE,
  async () => {
    const endMs = await almostComplete(paid);
    const family = service.family();
    for (const pid of family) sendSignal(pid, 'SIGKILL');
    expect(Date.now()).toBeLessThan(endMs);
    await untilGone(family);
    await untilPast(endMs);
    await startService();
    await untilCompleted(paid);
  },
);

test('a SIGTERM to npm alone stops everything within 10 s', async () => {
  const family = service.family();
  const startedAtMs = performance.now();
  process.kill(service.pid, 'SIGTERM');
  await service.ended;
  await untilGone(family);
  expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  expect(service.errorLines()).toEqual([]);
});
