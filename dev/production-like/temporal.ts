import { join } from 'node:path';
import { cacheRoot } from '../files/cache.ts';
import type { ServerContext } from '../start/servers.ts';
import { findTemporalServer, findTemporalUi } from '../temporal-on-postgres/programs.ts';
import { markerOf, type TemporalServerOptions } from '../temporal-on-postgres/server.ts';
import type { TemporalUiOptions } from '../temporal-on-postgres/ui.ts';

/** The settings of Temporal's server and Web UI. */
const temporalFolder = (dataDir: string) => join(dataDir, 'temporal');

/** The arguments by which Temporal's processes of a data directory are found. */
export const temporalMarker = (dataDir: string) => markerOf(temporalFolder(dataDir));

/** What the options of both have in common. */
function sharedOptions({ config, env, log, signal, guard }: ServerContext) {
  const { temporalProgramsDir, cacheHome, dataDir } = config;
  const folder = temporalFolder(dataDir);
  return { temporalProgramsDir, cacheRoot: cacheRoot(cacheHome), env, log, signal, guard, folder };
}

/** How to run the Temporal server of a data directory. @param adminUrl PostgreSQL's superuser */
export async function temporalOptions(
  context: ServerContext,
  adminUrl: string,
): Promise<TemporalServerOptions> {
  const { config, secrets } = context;
  const shared = sharedOptions(context);
  return {
    ...shared,
    programs: await findTemporalServer(shared),
    adminUrl,
    login: { name: 'temporal', password: secrets.TEMPORAL_DATABASE_PASSWORD },
    port: config.temporalPort,
    logFile: join(config.dataDir, 'logs', 'temporal.log'),
  };
}

/** How to run the Temporal Web UI; undefined when it cannot be installed. */
export async function temporalUiOptions(
  context: ServerContext,
  temporalAddress: string,
): Promise<TemporalUiOptions | undefined> {
  const { config } = context;
  const shared = sharedOptions(context);
  const program = await findTemporalUi(shared);
  if (program === undefined) return undefined;
  return {
    ...shared,
    program,
    temporalAddress,
    namespace: config.temporalNamespace,
    port: config.temporalUiPort,
    logFile: join(config.dataDir, 'logs', 'temporal-ui.log'),
  };
}
