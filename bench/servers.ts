import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadDevConfig } from '../dev/config.ts';
import { cacheRoot } from '../dev/files/cache.ts';
import { startEmbeddedPostgres } from '../dev/postgres/server.ts';
import type { Guard } from '../dev/processes/guard.ts';
import { startGuard } from '../dev/processes/guard.ts';
import { freePort } from '../dev/processes/ports.ts';
import { loadConfig } from '../src/config.ts';
import { connectDatabase } from '../src/db/client.ts';
import { migrate } from '../src/db/migrate.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { createOrderWorkflows } from '../src/temporal/order-workflows.ts';
import { startServiceOnPostgres, type ServiceOnPostgresOptions } from './service-on-postgres.ts';

/** The rate limit would measure itself: one client sends everything. */
const WITHOUT_LIMIT = { RATE_LIMIT_PER_SECOND: '1000000' };

/** Of this process to the database. */
const CONNECTIONS = 32;

/** A temporary folder, and a guard that removes it even if this process is killed. */
export interface Workplace {
  readonly folder: string;
  readonly guard: Guard;
}

/**
 * Runs work with a temporary folder, which is removed afterwards. If the work fails, the guard stops
 * what it has started, and removes the folder, when this process ends.
 */
export async function withWorkplace<Result>(
  work: (place: Workplace) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-bench-'));
  const guard = await startGuard([folder]);
  const result = await work({ folder, guard });
  await guard.release();
  await rm(folder, { recursive: true, force: true });
  return result;
}

/**
 * Starts a PostgreSQL with an empty, migrated database in a folder; one that exists is continued.
 *
 * @param settings of PostgreSQL, beside those that suit a benchmark
 */
export async function startDatabase(
  { folder, guard }: Workplace,
  settings: Record<string, string | number> = {},
) {
  const server = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    cacheRoot: cacheRoot(loadDevConfig().cacheHome),
    log: console.log,
    guard,
    settings: { shared_buffers: '1GB', max_wal_size: '8GB', ...settings },
  });
  await migrate(server.adminUrl);
  return server;
}

/**
 * Starts the whole service with temporary data: PostgreSQL, Temporal on it, API, worker and gateway
 * simulator in separate processes, without the rate limit. Opens the service's own parts on it, with
 * which a benchmark writes orders and starts workflows without HTTP.
 */
async function startService({ settings, ...options }: ServiceOnPostgresOptions) {
  const service = await startServiceOnPostgres({
    ...options,
    settings: { ...WITHOUT_LIMIT, ...settings },
  });
  const { facts, adminDatabaseUrl } = service;
  const config = loadConfig(facts.environment);
  const { databaseUrl = '', temporalAddress: address = '', temporalNamespace: namespace } = config;
  const sql = connectDatabase(databaseUrl, { name: 'bench', maxConnections: CONNECTIONS });
  const ownerSql = connectDatabase(superuserUrl(adminDatabaseUrl, databaseUrl));
  const client = connectTemporal({ address, namespace });
  return {
    ...service,
    config,
    sql,
    /** The superuser of PostgreSQL. */
    ownerSql,
    client,
    workflows: createOrderWorkflows(client),
    present: createOrderPresenter(config.publicBaseUrl),
    /** Where the sandbox's API of this service is. */
    sandboxUrl: `${facts.apiBaseUrl}${facts.sandboxBasePath}`,
    merchantId: facts.demoMerchant.merchantId,
    keys: facts.demoMerchant.sandbox,
    async stop() {
      await Promise.all([sql.end({ timeout: 1 }), ownerSql.end({ timeout: 1 })]);
      await service.stop();
    },
  };
}
/** See {@link startService}. */
export type BenchService = Awaited<ReturnType<typeof startService>>;

/** Runs work with a service of its own, which is stopped and removed afterwards. */
export async function withService<Result>(
  settings: Record<string, string>,
  work: (service: BenchService) => Promise<Result>,
  options: Omit<ServiceOnPostgresOptions, 'settings'> = {},
): Promise<Result> {
  const service = await startService({ settings, ...options });
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

/** The superuser, in the database of the service. */
function superuserUrl(adminDatabaseUrl: string, databaseUrl: string): string {
  const url = new URL(adminDatabaseUrl);
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}
