import type { WorkerOptions } from '@temporalio/worker';
import { Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { loadConfig } from '../../src/config.ts';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import type { Environment } from '../../src/domain/index.ts';
import { createGatewaySimulator } from '../../dev/gateway-simulator/simulator.ts';
import { startHttpServer } from '../../src/http/server/server.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { composeActivities, composeApi } from '../../src/main/compose/compose.ts';
import type { GatewayAdapter } from '../../src/payments/gateway/adapter.ts';
import { GATEWAY_ADAPTERS } from '../../src/payments/gateway/adapters.ts';
import { registerSearchAttributes } from '../../src/temporal/search-attributes.ts';
import { createTestDatabase, installTestClock } from './database.ts';
import { keepingLog } from './kept-log.ts';
import type { Merchant, MerchantOptions } from './merchant.ts';
import { createTestMerchant } from './merchant.ts';
import { SECRET_KEYS } from './secret-keys.ts';
import { realTemporal, skippingTemporal } from './temporal.ts';
import { ANSWER_WITHIN_MS, GATEWAY_ANSWERS_WITHIN_MS, UNTIL_MS } from './time-limits.ts';
import { workflowBundle } from './workflow-bundle.ts';

/** Shorter than the product's, and longer than the workflow task that recorded the webhook's step. */
const HAND_OVER_AFTER_MS = 500;

const PEPPER = 'a pepper for the tests of at least 32 characters';

/** What the sandbox's simulator and the service share. */
export const SIMULATOR_KEYS = {
  keyId: 'rzp_test_simulator',
  keySecret: 'simulator-secret',
  webhookSecret: 'simulator-webhook-secret',
};
const PRODUCTION_KEYS = {
  keyId: 'rzp_live_simulator',
  keySecret: 'another-secret',
  webhookSecret: 'another-webhook-secret',
};

export interface TestServiceOptions {
  /** `skipping`: time can be skipped to deadlines. `real`: a complete server in real time. */
  time: 'skipping' | 'real';
  settings?: Record<string, string>;
  /**
   * How long a request may take in total, for tests of one that takes too long. On a busy machine Temporal
   * may take longer than the contract's 5 s, which tests of outages check with separate API processes.
   */
  responseTimeoutMs?: number;
  /** How long the API waits for a gateway, for tests of one that does not answer. */
  gatewayTimeoutMs?: number;
  /** A second simulator, with separate keys, as production's gateway. */
  productionGateway?: boolean;
  /** Additional gateways; `settings` has their settings. */
  moreAdapters?: readonly GatewayAdapter[];
}

/**
 * The whole service in this process, with a separate database and real HTTP. Tests get it from
 * `serviceTest`, which also starts a worker and stops everything.
 */
export async function startTestService({
  time,
  settings = {},
  responseTimeoutMs = ANSWER_WITHIN_MS,
  gatewayTimeoutMs = GATEWAY_ANSWERS_WITHIN_MS,
  productionGateway = false,
  moreAdapters = [],
}: TestServiceOptions) {
  const [database, temporal] = await Promise.all([
    createTestDatabase(),
    time === 'skipping' ? skippingTemporal() : realTemporal(),
  ]);
  const { sql, serviceSql } = database;
  const clock = await installTestClock(database);
  const port = await freePort();
  const startSimulator = (environment: Environment, keys: typeof SIMULATOR_KEYS) =>
    createGatewaySimulator({
      ...keys,
      port: 0,
      callbackUrl: `http://127.0.0.1:${port}/callbacks/razorpay/${environment}`,
      callbackRetryDelaysMs: [50, 200, 1000],
      callbackTimeoutMs: UNTIL_MS,
    });
  const simulator = await startSimulator('sandbox', SIMULATOR_KEYS);
  const env = {
    NODE_ENV: 'test',
    DATABASE_URL: database.url,
    TEMPORAL_ADDRESS: temporal.address,
    TEMPORAL_NAMESPACE: temporal.namespace,
    // The time-skipping server has one namespace.
    TEMPORAL_HOUSEKEEPING_NAMESPACE: temporal.namespace,
    API_SECRET_PEPPER: PEPPER,
    WEBHOOK_SECRET_KEYS: SECRET_KEYS,
    DATA_ENCRYPTION_KEYS: SECRET_KEYS,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    RATE_LIMIT_PER_SECOND: '100000',
    DASHBOARD_RATE_LIMIT_PER_SECOND: '100000',
    PUBLIC_BASE_URL: `http://127.0.0.1:${port}`,
    SANDBOX_RAZORPAY_BASE_URL: simulator.url,
    SANDBOX_RAZORPAY_KEY_ID: SIMULATOR_KEYS.keyId,
    SANDBOX_RAZORPAY_KEY_SECRET: SIMULATOR_KEYS.keySecret,
    SANDBOX_RAZORPAY_WEBHOOK_SECRET: SIMULATOR_KEYS.webhookSecret,
    ...settings,
  };
  const adapters = [...GATEWAY_ADAPTERS, ...moreAdapters] as const;
  const config = loadConfig(env, adapters);
  const production = productionGateway
    ? await startSimulator('production', PRODUCTION_KEYS)
    : undefined;
  // Not through the settings: they require https in production, and the simulator has only http.
  if (production) {
    config.gateways.production.razorpay = { ...PRODUCTION_KEYS, baseUrl: production.url };
  }
  const { log, logged } = keepingLog();
  const resources = {
    config,
    sql: serviceSql,
    temporal: temporal.client,
    log,
    responseTimeoutMs,
    // The simulator's `/callbacks/idle` means that each callback is processed.
    callbackTimeoutMs: UNTIL_MS,
    gatewayTimeoutMs,
    adapters,
  };
  await registerSearchAttributes(temporal.client, temporal.namespace);
  const { app, readiness, background, pages, ofBuyers } = await composeApi(resources);
  const server = await startHttpServer(app, {
    host: '127.0.0.1',
    port,
    readiness,
    readinessGraceMs: 0,
    log,
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const { deps: composed, close } = await composeActivities(resources);
  const deps = { ...composed, now: temporal.nowMs, handOverAfterMs: HAND_OVER_AFTER_MS };

  async function startWorker(
    overrides: Partial<ReturnType<typeof createActivities>> = {},
    options: Partial<WorkerOptions> = {},
  ) {
    const shared = {
      connection: temporal.nativeConnection,
      namespace: temporal.namespace,
      activities: { ...createActivities(deps), ...overrides },
      shutdownGraceTime: 1,
      ...options,
    };
    const workers = await Promise.all([
      Worker.create({ workflowBundle: await workflowBundle(), ...shared, taskQueue: TASK_QUEUE }),
      // The money queue has only activities.
      ...(options.enableNonLocalActivities === false
        ? []
        : [Worker.create({ ...shared, taskQueue: MONEY_TASK_QUEUE })]),
    ]);
    const running = Promise.all(workers.map((worker) => worker.run()));
    return {
      async stop() {
        workers.forEach((worker) => worker.shutdown());
        await running;
      },
    };
  }

  const merchants: Merchant[] = [];
  async function newMerchant(options: MerchantOptions = {}): Promise<Merchant> {
    const parts = { config, sql: serviceSql, origin, now: temporal.nowMs };
    const merchant = await createTestMerchant(parts, options);
    merchants.push(merchant);
    return merchant;
  }

  return {
    origin,
    config,
    /** The settings of this service, for its other processes. */
    env,
    /** Connects as the tables' owner, so that tests can read and damage them. */
    sql,
    clock,
    log,
    /** Warnings and errors so far. */
    logged,
    deps,
    /** The routes of the dashboard. */
    pages,
    /** The routes of the buyer's page. */
    ofBuyers,
    temporal,
    simulator,
    startWorker,
    /** An approved merchant with keys, and a webhook receiver in the sandbox. */
    newMerchant,
    /** Skips time for Temporal and for the database alike. */
    async skip(ms: number) {
      const aheadMs = async () => (await temporal.nowMs()) - Date.now();
      await clock.set((await aheadMs()) + ms);
      await temporal.skip(ms);
      // The server's clock does not count the real time in which it fires the timers that fell due.
      await clock.set(await aheadMs());
    },
    async stop() {
      await server.stop();
      await background.finish();
      await Promise.all(merchants.map(({ receiver }) => receiver.stop()));
      await simulator.close();
      await production?.close();
      await close();
      await temporal.close();
      await database.drop();
    },
  };
}
export type TestService = Awaited<ReturnType<typeof startTestService>>;
