import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../dev/postgres/server.ts';
import type { Guard } from '../dev/processes/guard.ts';
import { startGuard } from '../dev/processes/guard.ts';
import { freePort } from '../dev/processes/ports.ts';
import { loadConfig } from '../src/config.ts';
import { connectDatabase } from '../src/db/client.ts';
import { migrate } from '../src/db/migrate.ts';
import { BASE_PATHS } from '../src/http/base-paths.ts';
import { createOrderPresenter } from '../src/orders/presenter.ts';
import { connectTemporal } from '../src/temporal/client.ts';
import { createOrderWorkflows } from '../src/temporal/order-workflows.ts';
import { startServiceOnPostgres, type ServiceOnPostgresOptions } from './service-on-postgres.ts';

/** The rate limit would measure itself: one client sends everything. */
const WITHOUT_LIMIT = { RATE_LIMIT_PER_SECOND: '1000000' };

/** The connections of this process to the database. */
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
    log: console.log,
    guard,
    settings: { shared_buffers: '1GB', max_wal_size: '8GB', ...settings },
  });
  await migrate(server.adminUrl);
  return server;
}

/** The service, with parts by which a benchmark writes orders and starts workflows without HTTP. */
function openParts(service: Awaited<ReturnType<typeof startServiceOnPostgres>>) {
  const { facts, adminDatabaseUrl } = service;
  const config = loadConfig(facts.environment);
  const { databaseUrl = '', temporalAddress: address = '', temporalNamespace: namespace } = config;
  const client = connectTemporal({ address, namespace });
  return {
    ...service,
    config,
    sql: connectDatabase(databaseUrl, { name: 'bench', maxConnections: CONNECTIONS }),
    ownerSql: connectDatabase(superuserUrl(adminDatabaseUrl, databaseUrl)),
    client,
    workflows: createOrderWorkflows(client),
    present: createOrderPresenter(config.publicBaseUrl),
    sandboxUrl: `${facts.apiBaseUrl}${BASE_PATHS.sandbox}`,
    merchantId: facts.demoMerchant.merchantId,
    keys: facts.demoMerchant.sandbox,
  };
}
export type BenchService = ReturnType<typeof openParts>;

/**
 * Runs work with a whole service of its own, without the rate limit of addresses: PostgreSQL, Temporal on it, API,
 * worker and gateway simulator in separate processes. It is stopped and removed afterwards.
 */
export async function withService<Result>(
  { settings, ...options }: ServiceOnPostgresOptions,
  work: (service: BenchService) => Promise<Result>,
): Promise<Result> {
  const service = await startServiceOnPostgres({
    ...options,
    settings: { ...WITHOUT_LIMIT, ...settings },
  });
  const parts = openParts(service);
  try {
    return await work(parts);
  } finally {
    await Promise.all([parts.sql.end({ timeout: 1 }), parts.ownerSql.end({ timeout: 1 })]);
    await service.stop();
  }
}

function superuserUrl(adminDatabaseUrl: string, databaseUrl: string): string {
  const url = new URL(adminDatabaseUrl);
  url.pathname = new URL(databaseUrl).pathname;
  return url.href;
}
