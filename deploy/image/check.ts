import { equal, match } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { payAsBuyer } from '../../dev/demo/buyer.ts';
import { startGuard, type Guard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import {
  lastLines,
  startServerProcess,
  type ServerProcess,
} from '../../dev/processes/server-process.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import { inContainer } from './container.ts';
import { startServers, type Servers } from './servers.ts';
import { buildStages, nodeVersionOf, type Stage } from './stages.ts';

/**
 * `npm run check:image`: does the steps of deploy/Dockerfile in folders, without Docker, and runs the
 * result as a container would: an unprivileged user, a read-only root, secrets as files. It migrates
 * a new database and brings an order to PAID. Linux only; needs root or user namespaces.
 */

const REPOSITORY = join(import.meta.dirname, '../..');
const DOCKERFILE = join(REPOSITORY, 'deploy/Dockerfile');
const ORDER_TIMEOUT_MS = 60_000;
const KEY = `check:${Buffer.alloc(32, 7).toString('base64')}`;
const SIMULATOR = {
  keyId: 'rzp_test_simulator',
  keySecret: 'key-secret',
  webhookSecret: 'callback',
};

const print = (line: string) => process.stdout.write(`${line}\n`);

/** What every step of the check needs. */
interface Check {
  readonly folder: string;
  readonly guard: Guard;
  readonly stage: Stage;
  readonly servers: Servers;
  /** The settings of every process of the image. */
  readonly env: Record<string, string>;
  readonly apiUrl: string;
  readonly stopped: ServerProcess[];
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

const inMegabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

function build(folder: string): Stage {
  const env = inheritedEnvironment();
  const options = { repository: REPOSITORY, folder, env, log: print };
  const stage = buildStages(options, DOCKERFILE, 'service');
  const app = join(stage.root, stage.workdir);
  const modules = sizeOf(join(app, 'node_modules'));
  print(
    `The image's own content: ${inMegabytes(sizeOf(app))}, of which packages ${inMegabytes(modules)}`,
  );
  return stage;
}

/** Writes the secrets as files, as Docker and Kubernetes mount them, and returns their variables. */
function writeSecrets(folder: string, secrets: Record<string, string>): Record<string, string> {
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o755);
  const entries = Object.entries(secrets).map(([name, value]) => {
    writeFileSync(join(folder, name), `${value}\n`, { mode: 0o444 });
    return [`${name}_FILE`, `/run/secrets/${name}`];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}

/** The command of a new container, with a root of its own. */
function container(
  { folder, stage, env }: Check,
  command: string[],
  more: Record<string, string> = {},
) {
  const mountPoint = mkdtempSync(join(folder, 'root-'));
  const options = { mountPoint, secretsFolder: join(folder, 'secrets'), env: { ...env, ...more } };
  return inContainer(stage, options, command);
}

/** Runs a command to its end. */
function run(check: Check, command: string[]): string {
  const { file, args, env } = container(check, command);
  const { status, stdout, stderr } = spawnSync(file, args, {
    env,
    encoding: 'utf8',
    timeout: 120_000,
  });
  equal(status, 0, `${command.join(' ')} ends with ${status}: ${stdout}${stderr}`);
  return stdout;
}

/** Starts a process of the image and waits until `isReady`. */
async function start(
  check: Check,
  name: string,
  isReady: (process: ServerProcess) => Promise<unknown>,
) {
  const logFile = join(check.folder, 'logs', `${name}.log`);
  const started = await startServerProcess({
    ...container(check, ['node', `src/main/${name}.ts`]),
    logFile,
    stopSteps: [{ signal: 'SIGTERM', waitMs: 25_000 }],
    reportsReady: true,
    guard: check.guard,
  });
  check.stopped.unshift(started);
  const ended = started.exited.then(() => {
    throw new Error(`The ${name} ended: ${lastLines(logFile).join('\n')}`);
  });
  await Promise.race([isReady(started), ended]);
  ended.catch(() => undefined);
  print(`The ${name} is ready`);
  return started;
}

async function untilOk(url: string): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  for (;;) {
    const answer = await fetch(url, { signal }).catch(() => undefined);
    if (answer?.ok) return;
    signal.throwIfAborted();
    await delay(100);
  }
}

function checkIsolation(check: Check): void {
  equal(run(check, ['id', '-u']).trim(), String(process.getuid?.() === 0 ? 1000 : 0));
  equal(run(check, ['node', '--version']).trim(), `v${nodeVersionOf(DOCKERFILE)}`);
  const probe =
    'for f in /x /app/x /app/node_modules/x /etc/x /usr/x; do ! touch $f || exit 1; done; touch /tmp/x';
  run(check, ['sh', '-c', `{ ${probe}; } 2>/dev/null`]);
  print('Its processes are unprivileged and can write only to /tmp');
}

/** The gateway simulator of this checkout: the service calls it as it calls a gateway. */
async function startSimulator({ folder, guard, apiUrl, env, stopped }: Check): Promise<void> {
  const simulator = await startServerProcess({
    file: process.execPath,
    args: [join(REPOSITORY, 'dev/gateway-simulator.ts')],
    env: {
      PATH: inheritedEnvironment()['PATH'],
      DATA_DIR: join(folder, 'simulator'),
      GATEWAY_SIMULATOR_PORT: new URL(env['SANDBOX_RAZORPAY_BASE_URL'] ?? '').port,
      GATEWAY_SIMULATOR_CALLBACK_URL: `${apiUrl}/callbacks/razorpay/sandbox`,
      SANDBOX_RAZORPAY_BASE_URL: env['SANDBOX_RAZORPAY_BASE_URL'],
      SANDBOX_RAZORPAY_KEY_ID: SIMULATOR.keyId,
      SANDBOX_RAZORPAY_KEY_SECRET: SIMULATOR.keySecret,
      SANDBOX_RAZORPAY_WEBHOOK_SECRET: SIMULATOR.webhookSecret,
    },
    logFile: join(folder, 'logs', 'simulator.log'),
    stopSteps: [{ signal: 'SIGTERM', waitMs: 5000 }],
    reportsReady: true,
    guard,
  });
  stopped.unshift(simulator);
  await simulator.ready;
}

/** Runs `admin` in a container. */
function admin(check: Check, ...args: string[]): unknown {
  return JSON.parse(run(check, ['node', 'src/main/admin.ts', ...args, '--json']));
}

async function checkOrder(check: Check): Promise<void> {
  const owner = ['--name', 'Check', '--email', 'check@example.com'];
  const { merchantId } = admin(check, 'merchant', 'create', ...owner) as {
    merchantId: string;
  };
  admin(check, 'merchant', 'approve', '--merchant', merchantId);
  const place = ['--merchant', merchantId, '--environment', 'sandbox'];
  const keys = admin(check, 'key', 'create', ...place) as { apiKey: string; apiSecret: string };
  const headers = { 'X-API-Key': keys.apiKey, 'X-API-Secret': keys.apiSecret };
  const orders = `${check.apiUrl}/sandbox/api/merchant/v1/orders`;
  const signal = AbortSignal.timeout(ORDER_TIMEOUT_MS);
  const buyer = { buyerEmail: 'asha@example.com', buyerPhone: '+919876543210' };
  const created = await fetch(orders, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify({ amount: 499.5, description: 'Blue kurta', ...buyer }),
    signal,
  });
  equal(created.status, 201, 'an order is created');
  const { data } = (await created.json()) as {
    data: { order_number: string; payment_url: string };
  };
  await payAsBuyer(data.payment_url, signal);
  for (let status = ''; status !== 'PAID'; await delay(250)) {
    const answer = await fetch(`${orders}/${data.order_number}`, { headers, signal });
    if (answer.ok) ({ status } = ((await answer.json()) as { data: { status: string } }).data);
  }
  print(`Order ${data.order_number} is PAID`);
}

async function checkRunning(check: Check): Promise<void> {
  checkIsolation(check);
  match(
    run({ ...check, env: migrationSettings(check) }, ['node', 'src/main/migrate.ts']),
    /Temporal is up to date/,
  );
  print('The database and Temporal are migrated');
  await startSimulator(check);
  const api = await start(check, 'api', () => untilOk(`${check.apiUrl}/readyz`));
  const worker = await start(check, 'worker', ({ ready }) => ready);
  await checkOrder(check);
  await Promise.all([api.stop(), worker.stop()]);
  equal((await api.exited).code, 0, 'the API ends with 0 after SIGTERM');
  equal((await worker.exited).code, 0, 'the worker ends with 0 after SIGTERM');
  print('API and worker end with 0 after SIGTERM');
}

/** Only the migration gets the login that owns the tables. */
function migrationSettings({ folder, servers, env }: Check): Record<string, string> {
  const MIGRATION_DATABASE_URL = servers.migrationDatabaseUrl;
  return { ...env, ...writeSecrets(join(folder, 'secrets'), { MIGRATION_DATABASE_URL }) };
}

async function settingsOf(
  folder: string,
  servers: Servers,
  port: number,
): Promise<Record<string, string>> {
  return {
    PORT: String(port),
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    SANDBOX_RAZORPAY_BASE_URL: `http://127.0.0.1:${await freePort()}`,
    SANDBOX_RAZORPAY_KEY_ID: SIMULATOR.keyId,
    ...writeSecrets(join(folder, 'secrets'), {
      DATABASE_URL: servers.databaseUrl,
      API_SECRET_PEPPER: 'p'.repeat(32),
      WEBHOOK_SECRET_KEYS: KEY,
      DATA_ENCRYPTION_KEYS: KEY,
      SANDBOX_RAZORPAY_KEY_SECRET: SIMULATOR.keySecret,
      SANDBOX_RAZORPAY_WEBHOOK_SECRET: SIMULATOR.webhookSecret,
    }),
  };
}

async function checkImage(folder: string, guard: Guard): Promise<void> {
  const stage = build(join(folder, 'stages'));
  print('Starting PostgreSQL and Temporal');
  const servers = await startServers(folder, guard, print);
  const stopped: ServerProcess[] = [];
  try {
    const port = await freePort();
    const env = await settingsOf(folder, servers, port);
    const apiUrl = `http://127.0.0.1:${port}`;
    await checkRunning({ folder, guard, stage, servers, env, apiUrl, stopped });
  } finally {
    for (const one of stopped) await one.stop();
    await servers.stop();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'merchant-orders-image-'));
const guard = await startGuard([folder]);
try {
  await checkImage(folder, guard);
  print('check:image: passed');
} catch (error) {
  print(`check:image: failed: ${(error as Error).stack}`);
  process.exitCode = 1;
} finally {
  await guard.release();
  rmSync(folder, { recursive: true, force: true });
}
