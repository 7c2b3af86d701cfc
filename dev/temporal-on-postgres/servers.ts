import { join } from 'node:path';
import { inheritedEnvironment } from '../../src/settings.ts';
import { cacheRoot } from '../files/cache.ts';
import { ensureServiceDatabase } from '../postgres/databases.ts';
import { startEmbeddedPostgres } from '../postgres/server.ts';
import type { Guard } from '../processes/guard.ts';
import { freePort } from '../processes/ports.ts';
import { findTemporalServer } from './programs.ts';
import { startTemporalServer } from './server.ts';

/** PostgreSQL, and Temporal on it, with temporary data, for a check or a benchmark. */
export interface Servers {
  readonly databaseUrl: string;
  readonly migrationDatabaseUrl: string;
  /** The superuser of PostgreSQL. */
  readonly adminDatabaseUrl: string;
  readonly temporalAddress: string;
  readonly postgresPid: number;
  readonly temporalPid: number;
  stop(): Promise<void>;
}

/** Where the servers keep data and logs, and what differs from the usual start. */
export interface ServersOptions {
  readonly folder: string;
  readonly guard: Guard;
  readonly log: (line: string) => void;
  /** Of PostgreSQL. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /** Where Temporal shows profiles of itself; without it, nowhere. */
  readonly pprofPort?: number;
}

/** Starts both on free ports. @throws SetupError */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const { folder, guard, log, settings, pprofPort } = options;
  const shared = { env: inheritedEnvironment(), log, guard, cacheRoot: cacheRoot() };
  const postgres = await startEmbeddedPostgres({
    ...shared,
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'logs', 'postgres.log'),
    settings: { max_connections: 200, ...settings },
  });
  const { adminUrl } = postgres;
  const databases = await ensureServiceDatabase(adminUrl, { owner: 'owner', service: 'service' });
  const temporal = await startTemporalServer({
    ...shared,
    programs: await findTemporalServer(shared),
    adminUrl,
    login: { name: 'temporal', password: 'temporal' },
    folder: join(folder, 'temporal'),
    port: await freePort(),
    pprofPort,
    logFile: join(folder, 'logs', 'temporal.log'),
  });
  return {
    ...databases,
    adminDatabaseUrl: adminUrl,
    temporalAddress: temporal.address,
    postgresPid: postgres.pid,
    temporalPid: temporal.pid,
    async stop() {
      await temporal.stop();
      await postgres.stop();
    },
  };
}
