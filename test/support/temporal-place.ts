import { join } from 'node:path';
import { cacheRoot } from '../../dev/files/cache.ts';
import { startEmbeddedPostgres } from '../../dev/postgres/server.ts';
import type { Guard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import type { InstallOptions } from '../../dev/files/install.ts';
import { findTemporalServer } from '../../dev/temporal-on-postgres/programs.ts';
import type { TemporalServerOptions } from '../../dev/temporal-on-postgres/server.ts';
import { inheritedEnvironment } from '../../src/settings.ts';

/** Where tests find Temporal's programs. */
export const TEMPORAL_PROGRAMS: InstallOptions = {
  cacheRoot: cacheRoot(),
  env: inheritedEnvironment(),
  log: () => undefined,
};

/** How to run a Temporal server beside the run's one, and the end of the PostgreSQL below it. */
export interface TemporalPlace {
  readonly options: TemporalServerOptions;
  stop(): Promise<void>;
}

/** A separate PostgreSQL for a server, because the databases have the same names. */
export async function newTemporalPlace(folder: string, guard?: Guard): Promise<TemporalPlace> {
  const { log, env } = TEMPORAL_PROGRAMS;
  const cluster = await startEmbeddedPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'postgres.log'),
    log,
    settings: { fsync: 'off' },
    guard,
  });
  const options = {
    programs: await findTemporalServer(TEMPORAL_PROGRAMS),
    adminUrl: cluster.adminUrl,
    login: { name: 'temporal', password: 'a-password' },
    folder: join(folder, 'temporal'),
    port: await freePort(),
    logFile: join(folder, 'temporal.log'),
    env,
    log,
    guard,
  };
  return { options, stop: cluster.stop };
}
