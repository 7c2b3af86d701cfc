import { join } from 'node:path';
import type { Config } from '../../config.ts';
import { startEmbeddedPostgres } from '../../db/embedded.ts';
import { cacheRoot } from '../../local/cache.ts';
import type { Guard } from '../../local/guard.ts';
import type { WantedPort } from '../../local/ports.ts';
import { findTemporalCli } from '../../temporal/cli.ts';
import { startTemporalDevServer } from '../../temporal/dev-server.ts';
import type { Crew } from './crew.ts';
import { postgresFolder, temporalDatabase } from './data-dir.ts';

/** Where the two servers of this run answer, ours or given ones. */
export interface Servers {
  readonly databaseUrl: string;
  readonly temporalAddress: string;
  /** Known only of a Temporal server of ours. */
  readonly temporalUiUrl: string | undefined;
}

/** What the servers of this run are started with. */
export interface ServersOptions {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly guard: Guard;
  readonly crew: Crew;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The ports of the servers that this run starts itself. */
export function serverPorts(config: Config): WantedPort[] {
  const host = '127.0.0.1';
  const postgres = { host, port: config.postgresPort, variable: 'POSTGRES_PORT' };
  const temporalPorts = [
    { host, port: config.temporalPort, variable: 'TEMPORAL_PORT' },
    { host, port: config.temporalUiPort, variable: 'TEMPORAL_UI_PORT' },
  ];
  return [
    ...(config.databaseUrl === undefined ? [postgres] : []),
    ...(config.temporalAddress === undefined ? temporalPorts : []),
  ];
}

async function databaseUrl({ config, crew, ...shared }: ServersOptions): Promise<string> {
  if (config.databaseUrl !== undefined) return config.databaseUrl;
  const logFile = join(config.dataDir, 'logs', 'postgres.log');
  const { url } = await crew.start({ name: 'PostgreSQL', kind: 'server', logFile }, () =>
    startEmbeddedPostgres({
      ...shared,
      dataDir: postgresFolder(config.dataDir),
      port: config.postgresPort,
      cacheRoot: cacheRoot(config.cacheHome),
      logFile,
    }),
  );
  return url;
}

async function temporal({ config, crew, ...shared }: ServersOptions) {
  if (config.temporalAddress !== undefined) {
    return { temporalAddress: config.temporalAddress, temporalUiUrl: undefined };
  }
  const executable = await findTemporalCli({
    ...shared,
    temporalCliPath: config.temporalCliPath,
    cacheRoot: cacheRoot(config.cacheHome),
  });
  const logFile = join(config.dataDir, 'logs', 'temporal.log');
  const server = await crew.start({ name: 'Temporal', kind: 'server', logFile }, () =>
    startTemporalDevServer({
      ...shared,
      executable,
      port: config.temporalPort,
      uiPort: config.temporalUiPort,
      namespace: config.temporalNamespace,
      databaseFile: temporalDatabase(config.dataDir),
      logFile,
    }),
  );
  return { temporalAddress: server.address, temporalUiUrl: server.uiUrl };
}

/**
 * Starts PostgreSQL and Temporal side by side, but for those that the settings name.
 *
 * @throws SetupError with what went wrong and what to do about it.
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const [url, addresses] = await Promise.all([databaseUrl(options), temporal(options)]);
  return { databaseUrl: url, ...addresses };
}
