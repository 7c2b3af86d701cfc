import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuard } from '../dev/processes/guard.ts';
import { findProcesses } from '../dev/processes/process-table.ts';
import { startServers } from '../dev/temporal-on-postgres/servers.ts';
import { startWholeService } from '../dev/start/whole-service.ts';

const REPOSITORY = join(import.meta.dirname, '..');

/** The processes whose CPU time is reported. The simulator replaces an external gateway. */
export const PROCESS_KINDS = [
  'API',
  'worker',
  'Temporal',
  'PostgreSQL',
  'gateway simulator',
] as const;
export type ProcessKind = (typeof PROCESS_KINDS)[number];

/** What differs from the usual start. */
export interface ServiceOnPostgresOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** The checkout whose code runs, by its real path; this one by default. */
  readonly repository?: string;
  readonly postgresSettings?: Readonly<Record<string, string>>;
  /** Where Temporal shows profiles of itself. */
  readonly pprofPort?: number;
}

/**
 * Starts the whole service of a checkout with temporary data, as `npm start` runs it, but on Temporal's
 * server on PostgreSQL as in production: the development server would be measured instead.
 */
export async function startServiceOnPostgres({
  settings,
  repository = REPOSITORY,
  postgresSettings = {},
  pprofPort,
}: ServiceOnPostgresOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-bench-'));
  const guard = await startGuard([folder]);
  const servers = await startServers({
    folder,
    guard,
    log: console.log,
    // Terse, as in production.
    settings: { log_error_verbosity: 'terse', ...postgresSettings },
    ...(pprofPort !== undefined && { pprofPort }),
  });
  const stopServers = async () => {
    await servers.stop();
    await guard.release();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const environment = {
      DATABASE_URL: servers.databaseUrl,
      MIGRATION_DATABASE_URL: servers.migrationDatabaseUrl,
      TEMPORAL_ADDRESS: servers.temporalAddress,
    };
    const service = await startWholeService({ ...environment, ...settings }, repository);
    const pidOf = (entry: string) => {
      const marker = `--run-of=${service.dataDir}`;
      const [pid] = findProcesses(join(repository, entry), marker);
      if (pid === undefined) throw new Error(`The process of ${entry} was not found`);
      return pid;
    };
    const pids: Record<ProcessKind, number> = {
      API: service.apiPid,
      worker: pidOf('src/main/worker.ts'),
      Temporal: servers.temporalPid,
      PostgreSQL: servers.postgresPid,
      'gateway simulator': pidOf('dev/gateway-simulator.ts'),
    };
    return {
      ...service,
      pids,
      /** The superuser of PostgreSQL. */
      adminDatabaseUrl: servers.adminDatabaseUrl,
      async stop() {
        await service.stop();
        await stopServers();
      },
    };
  } catch (error) {
    await stopServers();
    throw error;
  }
}
