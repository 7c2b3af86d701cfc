import { join } from 'node:path';
import { loadDevConfig } from '../../dev/config.ts';
import { cacheRoot } from '../../dev/files/cache.ts';
import { databaseUrl, ensureDatabase, ensureLogin } from '../../dev/postgres/databases.ts';
import { startEmbeddedPostgres } from '../../dev/postgres/server.ts';
import type { Guard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { findTemporalServer } from '../../dev/temporal/programs.ts';
import { startTemporalServer } from '../../dev/temporal/server.ts';
import { inheritedEnvironment } from '../../src/settings.ts';

/** PostgreSQL and Temporal for one check, with temporary data. */
export interface Servers {
  readonly databaseUrl: string;
  readonly migrationDatabaseUrl: string;
  readonly temporalAddress: string;
  stop(): Promise<void>;
}

const NAME = 'merchant_orders';

/** Starts both on free ports, with data and logs in `folder`. @throws SetupError */
export async function startServers(
  folder: string,
  guard: Guard,
  log: (line: string) => void,
): Promise<Servers> {
  const { temporalProgramsDir, cacheHome } = loadDevConfig();
  const shared = { env: inheritedEnvironment(), log, guard, cacheRoot: cacheRoot(cacheHome) };
  const postgres = await startEmbeddedPostgres({
    ...shared,
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'logs', 'postgres.log'),
    settings: { max_connections: 200 },
  });
  const { adminUrl } = postgres;
  const owner = { name: `${NAME}_owner`, password: 'owner' };
  const service = { name: `${NAME}_service`, password: 'service' };
  await ensureLogin(adminUrl, owner);
  await ensureLogin(adminUrl, service);
  await ensureDatabase(adminUrl, NAME, { owner, users: [service] });
  const temporal = await startTemporalServer({
    ...shared,
    programs: await findTemporalServer({ ...shared, temporalProgramsDir }),
    adminUrl,
    login: { name: 'temporal', password: 'temporal' },
    folder: join(folder, 'temporal'),
    port: await freePort(),
    immediateSearchAttributes: true,
    logFile: join(folder, 'logs', 'temporal.log'),
  });
  return {
    databaseUrl: databaseUrl(adminUrl, NAME, service),
    migrationDatabaseUrl: databaseUrl(adminUrl, NAME, owner),
    temporalAddress: temporal.address,
    async stop() {
      await temporal.stop();
      await postgres.stop();
    },
  };
}
