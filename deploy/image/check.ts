import { deepEqual, equal, match, ok } from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'yaml';
import { payAsBuyer } from '../../dev/demo/buyer.ts';
import { readDemoMerchant, type DemoMerchant } from '../../dev/dev-facts.ts';
import { startGuard, type Guard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import {
  lastLines,
  startServerProcess,
  type ServerProcess,
} from '../../dev/processes/server-process.ts';
import { startServers, type Servers } from '../../dev/temporal-on-postgres/servers.ts';
import { readCommandLine } from '../../src/main/process/command-line.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import { inContainer } from './container.ts';
import { buildStages, nodeVersionOf, type Stage } from './stages.ts';

readCommandLine({
  usage: 'npm run check:image',
  does: `Does the steps of deploy/Dockerfile in folders, without Docker, and runs the result as a container
would: an unprivileged user, a read-only root, secrets as files. It migrates a new database, makes the demo
merchant as docker-compose.yml does, and brings an order of it to PAID. Linux only; it needs root or user
namespaces.`,
});

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
  /** The image of the service, and the one of the sandbox. */
  readonly stage: Stage;
  readonly sandbox: Stage;
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

function build(folder: string): Pick<Check, 'stage' | 'sandbox'> {
  const env = inheritedEnvironment();
  const options = { repository: REPOSITORY, folder, env, log: print };
  const stageOf = buildStages(options, DOCKERFILE);
  const stage = stageOf('service');
  const app = join(stage.root, stage.workdir);
  const modules = sizeOf(join(app, 'node_modules'));
  print(
    `The image's own content: ${inMegabytes(sizeOf(app))}, of which packages ${inMegabytes(modules)}`,
  );
  return { stage, sandbox: stageOf('sandbox') };
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

/** The same check with containers of the sandbox's image, which have a volume at /data. */
const inSandbox = (check: Check): Check => ({ ...check, stage: check.sandbox });

const dataFolderOf = ({ sandbox }: Check) => join(sandbox.root, 'data');

/** The command of a new container, with a root of its own. */
function container(check: Check, command: string[]) {
  const { folder, stage, sandbox, env } = check;
  const mountPoint = mkdtempSync(join(folder, 'root-'));
  const options = {
    mountPoint,
    secretsFolder: join(folder, 'secrets'),
    env,
    ...(stage === sandbox && { dataFolder: dataFolderOf(check) }),
  };
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
  file: string,
  isReady: (process: ServerProcess) => Promise<unknown> = ({ ready }) => ready,
) {
  const logFile = join(check.folder, 'logs', `${basename(file)}.log`);
  const started = await startServerProcess({
    ...container(check, ['node', file]),
    logFile,
    stopSteps: [{ signal: 'SIGTERM', waitMs: 25_000 }],
    reportsReady: true,
    guard: check.guard,
  });
  check.stopped.unshift(started);
  const ended = started.exited.then(() => {
    throw new Error(`${file} ended: ${lastLines(logFile).join('\n')}`);
  });
  await Promise.race([isReady(started), ended]);
  ended.catch(() => undefined);
  print(`${file} is ready`);
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

/** The command of a service of docker-compose.yml. */
function composeCommand(name: string): string[] {
  const text = readFileSync(join(REPOSITORY, 'docker-compose.yml'), 'utf8');
  const { services } = parse(text, { merge: true }) as {
    services: Record<string, { command: string[] }>;
  };
  return services[name]?.command ?? [];
}

/** Starts the simulator and the mailbox, and makes the demo merchant, whose keys it returns. */
async function startSandbox(check: Check): Promise<DemoMerchant> {
  const sandbox = inSandbox(check);
  const printed = run(sandbox, composeCommand('seed'));
  const merchant = readDemoMerchant(dataFolderOf(check));
  ok(merchant, 'there is a demo merchant');
  match(printed, new RegExp(`"apiSecret": "${merchant.sandbox.apiSecret}"`), 'its keys are shown');
  run(sandbox, composeCommand('seed'));
  deepEqual(readDemoMerchant(dataFolderOf(check)), merchant, 'it is the same at the next start');
  print('The demo merchant is made, and its keys are shown');
  await start(sandbox, 'dev/gateway-simulator.ts');
  await start(sandbox, 'dev/mailbox.ts', () =>
    untilOk(`http://127.0.0.1:${check.env['MAILBOX_PORT']}`),
  );
  return merchant;
}

async function checkOrder(check: Check, { sandbox }: DemoMerchant): Promise<void> {
  const headers = { 'X-API-Key': sandbox.apiKey, 'X-API-Secret': sandbox.apiSecret };
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
  const order = ['order', 'show', '--order', data.order_number];
  match(run(check, ['node', 'src/main/admin.ts', ...order]), /PAID/);
  print(`Order ${data.order_number} is PAID`);
}

async function checkRunning(check: Check): Promise<void> {
  checkIsolation(check);
  match(
    run({ ...check, env: migrationSettings(check) }, ['node', 'src/main/migrate.ts']),
    /Temporal is up to date/,
  );
  print('The database and Temporal are migrated');
  const merchant = await startSandbox(check);
  const api = await start(check, 'src/main/api.ts', () => untilOk(`${check.apiUrl}/readyz`));
  const worker = await start(check, 'src/main/worker.ts');
  await checkOrder(check, merchant);
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
  const [simulatorPort, mailboxPort, smtpPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  return {
    PORT: String(port),
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    SANDBOX_RAZORPAY_BASE_URL: `http://127.0.0.1:${simulatorPort}`,
    SANDBOX_RAZORPAY_KEY_ID: SIMULATOR.keyId,
    GATEWAY_SIMULATOR_PORT: String(simulatorPort),
    GATEWAY_SIMULATOR_CALLBACK_URL: `http://127.0.0.1:${port}/callbacks/razorpay/sandbox`,
    MAILBOX_PORT: String(mailboxPort),
    MAILBOX_SMTP_PORT: String(smtpPort),
    MAIL_FROM: 'no-reply@localhost',
    ...writeSecrets(join(folder, 'secrets'), {
      DATABASE_URL: servers.databaseUrl,
      API_SECRET_PEPPER: 'p'.repeat(32),
      WEBHOOK_SECRET_KEYS: KEY,
      DATA_ENCRYPTION_KEYS: KEY,
      SMTP_URL: `smtp://127.0.0.1:${smtpPort}?ignoreTLS=true`,
      SANDBOX_RAZORPAY_KEY_SECRET: SIMULATOR.keySecret,
      SANDBOX_RAZORPAY_WEBHOOK_SECRET: SIMULATOR.webhookSecret,
    }),
  };
}

async function checkImage(folder: string, guard: Guard): Promise<void> {
  const stages = build(join(folder, 'stages'));
  print('Starting PostgreSQL and Temporal');
  const servers = await startServers({ folder, guard, log: print });
  const stopped: ServerProcess[] = [];
  try {
    const port = await freePort();
    const env = await settingsOf(folder, servers, port);
    const apiUrl = `http://127.0.0.1:${port}`;
    await checkRunning({ folder, guard, ...stages, servers, env, apiUrl, stopped });
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
