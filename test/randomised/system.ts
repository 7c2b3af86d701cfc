import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { newMemory } from '../../dev/load/memory.ts';
import { startMerchant } from '../../dev/load/merchant.ts';
import { startPeople } from '../../dev/load/people/people.ts';
import { startProductionGateway } from '../../dev/load/production-gateway.ts';
import { compareWithGateway } from '../../dev/load/oracle/under-way.ts';
import type { Allowed, LostTime } from '../../dev/load/oracle/service.ts';
import { simulatorAccessOf } from '../../dev/load/simulator.ts';
import { createGatewaySimulator } from '../../dev/gateway-simulator/simulator.ts';
import { startGuard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import { adminCli } from '../support/admin-cli.ts';
import { installTestClock } from '../support/database.ts';
import { runPart } from '../support/run-part.ts';
import { until } from '../support/until.ts';
import type { Side } from './disturbances.ts';
import { MERCHANTS } from './plan.ts';
import { createProcesses } from './processes.ts';
import { startServers, type Servers } from './servers.ts';
import { SIMULATOR_KEYS } from '../support/service.ts';

/** The copy of all databases before the first order. */
const PRISTINE = 'pristine';
/** The copy that a restore uses. */
const EARLIER = 'earlier';

/** Seconds instead of production's hours: an order without a dispute completes within seconds. */
const SHORT_DURATIONS = {
  COMPLETION_WINDOW_SECONDS: '6',
  DISPUTE_ANSWER_SECONDS: '8',
  SWEEP_AFTER_SECONDS: '2',
  RECONCILE_SECONDS: '3',
  WEBHOOK_RETRY_DELAYS_SECONDS: '1,1,2,2',
};

/** A merchant repeats soon, and gives up while it is suspended: the run activates it later. */
const CLIENT = {
  actor: 'randomised',
  waitsMs: [100, 200, 400, 1000],
  whileSuspended: 'gives up',
} as const;

function settingsOf(servers: Servers, port: number, gatewayPort: number) {
  return {
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    DATABASE_URL: servers.databaseUrl,
    TEMPORAL_ADDRESS: servers.temporalAddress,
    TEMPORAL_NAMESPACE: 'randomised',
    API_SECRET_PEPPER: 'a pepper for the tests of at least 32 characters',
    WEBHOOK_SECRET_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    DATA_ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    RATE_LIMIT_PER_SECOND: '100000',
    PORT: String(port),
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    SANDBOX_RAZORPAY_BASE_URL: `http://127.0.0.1:${gatewayPort}`,
    SANDBOX_RAZORPAY_KEY_ID: SIMULATOR_KEYS.keyId,
    SANDBOX_RAZORPAY_KEY_SECRET: SIMULATOR_KEYS.keySecret,
    SANDBOX_RAZORPAY_WEBHOOK_SECRET: SIMULATOR_KEYS.webhookSecret,
    ...SHORT_DURATIONS,
  };
}

/** Prepares the new databases for the first order, and keeps copies of them. */
async function prepare(servers: Servers, env: Record<string, string>): Promise<void> {
  await servers.startTemporal();
  const settings = { ...env, MIGRATION_DATABASE_URL: servers.ownerUrl };
  const { code, stdout, stderr } = await runPart('src/main/migrate.ts', settings);
  if (code !== 0) throw new Error(`The databases could not be prepared: ${stdout}${stderr}`);
  const sql = connectDatabase(servers.ownerUrl, { maxConnections: 1 });
  await installTestClock({ sql });
  await sql.end({ timeout: 1 });
  await servers.stopTemporal();
  for (const side of ['postgres', 'temporal'] as const) await servers.copy(side, PRISTINE);
}

/**
 * Starts everything that the service needs: PostgreSQL, Temporal, and, for each run, a gateway, an API
 * process and a worker process.
 */
export async function startHost() {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-randomised-'));
  const guard = await startGuard([folder]);
  const servers = await startServers(folder, guard);
  const env = settingsOf(servers, await freePort(), await freePort());
  await prepare(servers, env);
  return {
    /** A new service without orders. Only one at a time. */
    startSystem: (seed: number) => startSystem({ servers, env, folder, guard }, seed),
    async stop() {
      await servers.stop();
      await guard.release();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
export type Host = Awaited<ReturnType<typeof startHost>>;

interface Place {
  servers: Servers;
  env: ReturnType<typeof settingsOf>;
  folder: string;
  guard: Awaited<ReturnType<typeof startGuard>>;
}

async function startSystem({ servers, env: shared, folder, guard }: Place, seed: number) {
  for (const side of ['postgres', 'temporal'] as const) await servers.restore(side, PRISTINE);
  await servers.startTemporal();
  const production = await startProductionGateway(folder, shared.PUBLIC_BASE_URL);
  const env = { ...shared, ...production.settings };
  const config = loadConfig(env);
  const { baseUrl = '' } = config.gateways.sandbox.razorpay ?? {};
  const simulator = await createGatewaySimulator({
    ...SIMULATOR_KEYS,
    port: Number(new URL(baseUrl).port),
    callbackUrl: `${config.publicBaseUrl}/callbacks/razorpay/sandbox`,
    callbackRetryDelaysMs: [50, 200, 1000],
    seed,
  });
  const sql = connectDatabase(servers.ownerUrl, { name: 'test' });
  const temporal = connectTemporal({
    address: servers.temporalAddress,
    namespace: config.temporalNamespace,
  });
  const processes = createProcesses(folder, env, guard);
  const memory = newMemory();
  const used = { environment: env, apiBaseUrl: config.publicBaseUrl };
  const merchants = await Promise.all(
    Array.from({ length: MERCHANTS }, () => startMerchant(used, { ...CLIENT, memory })),
  );
  await processes.start();
  const people = await startPeople(used, { memory, outcome: 'open' });
  const admin = adminCli(env);
  const checked = { environment: env, migrationDatabaseUrl: servers.ownerUrl };
  const access = simulatorAccessOf(checked);
  const lost: LostTime[] = [];
  let isTemporalRestored = false;
  let copiedAtMs = 0;
  /** Repeated if the gateway does not respond: it is asked for what the database has lost. */
  async function recoverAll(): Promise<void> {
    await until(async () => (await admin.run('order', 'recover', '--all')).code === 0);
  }

  return {
    /** What the orders of the run share. */
    deps: { simulator: access, environment: env, memory, outcome: 'open' as const },
    /** The service as the oracle needs it. */
    checked,
    simulator: access,
    /** Connects as the tables' owner. */
    sql,
    temporal,
    admin,
    processes,
    merchants,
    people,
    /** Suspends a merchant, or activates it again. */
    async setActive(merchant: number, isActive: boolean) {
      const { merchantId: id } = merchants[merchant]!;
      const change = isActive
        ? ['activate', '--merchant', id]
        : ['suspend', '--merchant', id, '--reason', 'A complaint'];
      // It need not succeed while a server is away: the run activates it later.
      await (isActive ? admin.alone : admin).run('merchant', ...change).catch(() => undefined);
    },
    /** Moves the database's clock forward, by which reconciliation checks sessions. */
    advance: (ms: number) => sql`
      UPDATE test_clock SET ahead = ahead + ${ms} * interval '1 millisecond'`,
    /** What an operator would have to look at, or a restore explains. */
    allowed: (): Allowed => ({
      alerts: true,
      lost,
      missingWorkflows: isTemporalRestored,
      laterHolds: true,
      laterPayments: true,
      restsIn: ['ACCEPTED', 'PAID'],
    }),
    async copy(side: Side) {
      if (side === 'temporal') await servers.stopTemporal();
      else copiedAtMs = Date.now();
      await servers.copy(side, EARLIER);
      if (side === 'temporal') await servers.startTemporal();
    },
    recoverAll,
    /** Runs the comparison with the gateway, as its Schedule does once a day. */
    compareWithGateway: () => compareWithGateway(checked),
    /** Restores a side as operators do, and then recovers both sides. */
    async restore(side: Side) {
      if (side === 'postgres') {
        await servers.restore(side, EARLIER);
        lost.push({ fromMs: copiedAtMs, toMs: Date.now() });
      } else {
        // A worker caches workflows as they were before the restore.
        isTemporalRestored = true;
        await processes.kill();
        await servers.stopTemporal();
        await servers.restore(side, EARLIER);
        await servers.startTemporal();
        await processes.start();
      }
      await recoverAll();
    },
    async stop() {
      await people.end();
      await processes.kill();
      for (const { receiver } of merchants) receiver.stop();
      await simulator.close();
      await production.stop();
      await temporal.connection.close();
      await sql.end({ timeout: 1 });
      await servers.stopTemporal();
    },
  };
}
export type System = Awaited<ReturnType<typeof startSystem>>;
