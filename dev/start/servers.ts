import { join } from 'node:path';
import type { DevConfig } from '../config.ts';
import { cacheRoot } from '../files/cache.ts';
import type { Guard } from '../processes/guard.ts';
import type { ListenAddress } from '../../src/main/process/listen.ts';
import { databaseUrl, ensureDatabase, ensureLogin } from '../postgres/databases.ts';
import { startEmbeddedPostgres, type EmbeddedPostgresOptions } from '../postgres/server.ts';
import { findTemporalCli } from '../temporal/command-line.ts';
import { startDevelopmentServer } from '../temporal/development-server.ts';
import type { Supervisor } from './supervisor.ts';
import { postgresFolder, temporalDatabase } from './data-dir.ts';
import type { Secrets } from './secrets.ts';

const DATABASE = 'merchant_orders';

/** The service has 40; in the production-like shape Temporal has pools of 120 connections. */
const MAX_CONNECTIONS = 200;

/** The addresses of the servers of this run, started by it or given in the settings. */
export interface Servers {
  /** For the API, the worker and `admin`: may change rows, not tables. */
  readonly databaseUrl: string;
  /** For migrations: owns the tables. Undefined when DATABASE_URL is given without it. */
  readonly migrationDatabaseUrl: string | undefined;
  readonly temporalAddress: string;
  /** Undefined when TEMPORAL_ADDRESS is given. */
  readonly temporalUiUrl: string | undefined;
}

/** What the options of every server are made of. */
export interface ServerContext {
  readonly config: DevConfig;
  readonly env: NodeJS.ProcessEnv;
  readonly secrets: Secrets;
  readonly guard: Guard;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

/** How to start the servers of this run. */
export interface ServersOptions extends ServerContext {
  readonly supervisor: Supervisor;
}

/** The ports of the servers that this run starts itself. */
export function serverPorts(config: DevConfig): ListenAddress[] {
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

const serverLog = ({ config }: ServerContext, name: string) =>
  join(config.dataDir, 'logs', `${name}.log`);

/** How to run the PostgreSQL of a data directory. */
export function postgresOptions(context: ServerContext): EmbeddedPostgresOptions {
  const { config, log, signal, guard } = context;
  return {
    log,
    signal,
    guard,
    dataDir: postgresFolder(config.dataDir),
    port: config.postgresPort,
    cacheRoot: cacheRoot(config.cacheHome),
    logFile: serverLog(context, 'postgres'),
    // Terse: PostgreSQL's own log would show the whole row that a constraint refuses.
    settings: {
      max_connections: MAX_CONNECTIONS,
      log_error_verbosity: 'terse',
    },
  };
}

/** @returns the connection URL of the superuser */
async function startPostgres({ supervisor, ...context }: ServersOptions): Promise<string> {
  const options = postgresOptions(context);
  const { logFile } = options;
  const { adminUrl } = await supervisor.start(
    { name: 'PostgreSQL', kind: 'database', logFile },
    () => startEmbeddedPostgres(options),
  );
  return adminUrl;
}

/** The service's database, with an owner for migrations and a login for everything else. */
export async function serviceDatabase(
  { config, secrets }: Pick<ServerContext, 'config' | 'secrets'>,
  adminUrl: string,
) {
  if (config.databaseUrl !== undefined) {
    const { databaseUrl: url, migrationDatabaseUrl } = config;
    return { databaseUrl: url, migrationDatabaseUrl };
  }
  const owner = { name: `${DATABASE}_owner`, password: secrets.DATABASE_OWNER_PASSWORD };
  const service = { name: `${DATABASE}_service`, password: secrets.DATABASE_SERVICE_PASSWORD };
  await ensureLogin(adminUrl, owner);
  await ensureLogin(adminUrl, service);
  await ensureDatabase(adminUrl, DATABASE, { owner, users: [service] });
  return {
    databaseUrl: databaseUrl(adminUrl, DATABASE, service),
    migrationDatabaseUrl: databaseUrl(adminUrl, DATABASE, owner),
  };
}

/** Temporal's development server, which is also the Web UI, unless the settings give a server. */
async function temporal({ supervisor, ...context }: ServersOptions) {
  const { config, env, signal, guard } = context;
  const { temporalAddress, temporalCliPath, temporalPort, temporalUiPort, dataDir } = config;
  if (temporalAddress !== undefined) return { temporalAddress, temporalUiUrl: undefined };
  const cli = await findTemporalCli({
    ...context,
    temporalCliPath,
    cacheRoot: cacheRoot(config.cacheHome),
  });
  const logFile = serverLog(context, 'temporal');
  const { address } = await supervisor.start({ name: 'Temporal', kind: 'server', logFile }, () =>
    startDevelopmentServer({
      cli,
      databaseFile: temporalDatabase(dataDir),
      port: temporalPort,
      uiPort: temporalUiPort,
      logFile,
      env,
      signal,
      guard,
    }),
  );
  return { temporalAddress: address, temporalUiUrl: `http://127.0.0.1:${temporalUiPort}` };
}

async function database(options: ServersOptions) {
  const { databaseUrl: given } = options.config;
  return serviceDatabase(options, given === undefined ? await startPostgres(options) : '');
}

/**
 * Starts PostgreSQL and Temporal side by side, except for the servers that the settings give.
 *
 * @throws SetupError with the cause and a remedy.
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const [databases, addresses] = await Promise.all([database(options), temporal(options)]);
  return { ...databases, ...addresses };
}
