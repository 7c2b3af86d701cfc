import { join } from 'node:path';
import type { DevConfig } from '../config.ts';
import { cacheRoot } from '../files/cache.ts';
import type { Guard } from '../processes/guard.ts';
import type { ListenAddress } from '../../src/main/listen.ts';
import { databaseUrl, ensureDatabase, ensureLogin } from '../postgres/databases.ts';
import { startEmbeddedPostgres, type EmbeddedPostgresOptions } from '../postgres/server.ts';
import { findTemporalServer, findTemporalUi } from '../temporal/programs.ts';
import { startTemporalServer, type TemporalServerOptions } from '../temporal/server.ts';
import { startTemporalUi, type TemporalUiOptions } from '../temporal/ui.ts';
import type { Supervisor } from './supervisor.ts';
import { postgresFolder, temporalFolder } from './data-dir.ts';
import type { Secrets } from './secrets.ts';

const DATABASE = 'merchant_orders';

/** Temporal's four services have pools of 120 connections in total; the service has 40. */
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
    ...(needsPostgres(config) ? [postgres] : []),
    ...(config.temporalAddress === undefined ? temporalPorts : []),
  ];
}

/** The embedded PostgreSQL stores Temporal's data, and the service's unless DATABASE_URL is given. */
function needsPostgres({ databaseUrl: given, temporalAddress }: DevConfig): boolean {
  return given === undefined || temporalAddress === undefined;
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
      shared_preload_libraries: config.postgresPreload ?? '',
    },
  };
}

/** How to run the Temporal server of a data directory. @param adminUrl PostgreSQL's superuser */
export async function temporalOptions(
  context: ServerContext,
  adminUrl: string,
): Promise<TemporalServerOptions> {
  const { config, secrets, env, log, signal, guard } = context;
  return {
    env,
    log,
    signal,
    guard,
    programs: await findTemporalServer(programOptions(context)),
    adminUrl,
    login: { name: 'temporal', password: secrets.TEMPORAL_DATABASE_PASSWORD },
    folder: temporalFolder(config.dataDir),
    port: config.temporalPort,
    pprofPort: config.temporalPprofPort,
    logFile: serverLog(context, 'temporal'),
  };
}

/** How to run the Temporal Web UI; undefined when it cannot be installed. */
export async function temporalUiOptions(
  context: ServerContext,
  temporalAddress: string,
): Promise<TemporalUiOptions | undefined> {
  const { config, env, signal, guard } = context;
  const program = await findTemporalUi(programOptions(context));
  if (program === undefined) return undefined;
  return {
    env,
    signal,
    guard,
    program,
    folder: temporalFolder(config.dataDir),
    temporalAddress,
    namespace: config.temporalNamespace,
    port: config.temporalUiPort,
    logFile: serverLog(context, 'temporal-ui'),
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

async function temporalUi({ supervisor, ...context }: ServersOptions, temporalAddress: string) {
  const options = await temporalUiOptions(context, temporalAddress);
  if (options === undefined) return undefined;
  const { logFile } = options;
  const { url } = await supervisor.start({ name: 'Temporal Web UI', kind: 'server', logFile }, () =>
    startTemporalUi(options),
  );
  return url;
}

function programOptions({ config, env, log, signal, guard }: ServerContext) {
  const { temporalProgramsDir, cacheHome } = config;
  return { temporalProgramsDir, cacheRoot: cacheRoot(cacheHome), env, log, signal, guard };
}

async function temporal(options: ServersOptions, adminUrl: string) {
  const { supervisor, ...context } = options;
  const { temporalAddress } = context.config;
  if (temporalAddress !== undefined) return { temporalAddress, temporalUiUrl: undefined };
  const server = await temporalOptions(context, adminUrl);
  const { logFile } = server;
  const { address } = await supervisor.start({ name: 'Temporal', kind: 'server', logFile }, () =>
    startTemporalServer(server),
  );
  return { temporalAddress: address, temporalUiUrl: await temporalUi(options, address) };
}

/**
 * Starts PostgreSQL, and Temporal on it, except for the servers that the settings give.
 *
 * @throws SetupError with the cause and a remedy.
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const adminUrl = needsPostgres(options.config) ? await startPostgres(options) : '';
  const [database, addresses] = await Promise.all([
    serviceDatabase(options, adminUrl),
    temporal(options, adminUrl),
  ]);
  return { ...database, ...addresses };
}
