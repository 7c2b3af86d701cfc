import { join } from 'node:path';
import type { DevConfig } from '../config.ts';
import { cacheRoot } from '../files/cache.ts';
import type { Guard } from '../processes/guard.ts';
import type { ListenAddress } from '../../src/main/listen.ts';
import { databaseUrl, ensureDatabase, ensureLogin } from '../postgres/databases.ts';
import { startEmbeddedPostgres } from '../postgres/server.ts';
import { findTemporalServer, findTemporalUi } from '../temporal/programs.ts';
import { startTemporalServer } from '../temporal/server.ts';
import { startTemporalUi } from '../temporal/ui.ts';
import type { Supervisor } from './supervisor.ts';
import { postgresFolder, temporalFolder } from './data-dir.ts';
import type { Secrets } from './secrets.ts';

const DATABASE = 'merchant_orders';

/** Each of Temporal's four services has pools of its own, 120 connections in all; ours take 40. */
const MAX_CONNECTIONS = 200;

/** Where the servers of this run answer, ours or given ones. */
export interface Servers {
  /** For the API, the worker and `admin`: it may change rows, not tables. */
  readonly databaseUrl: string;
  /** For migrations: it owns the tables. Undefined where a database is given, with its own. */
  readonly migrationDatabaseUrl: string | undefined;
  readonly temporalAddress: string;
  /** Known only of a Temporal server of ours. */
  readonly temporalUiUrl: string | undefined;
}

/** What the servers of this run are started with. */
export interface ServersOptions {
  readonly config: DevConfig;
  readonly env: NodeJS.ProcessEnv;
  readonly secrets: Secrets;
  readonly guard: Guard;
  readonly supervisor: Supervisor;
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
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

/** The embedded PostgreSQL keeps Temporal's data, and the service's unless it has a database. */
function needsPostgres({ databaseUrl: given, temporalAddress }: DevConfig): boolean {
  return given === undefined || temporalAddress === undefined;
}

/** @returns a superuser's address */
async function startPostgres({ config, supervisor, ...shared }: ServersOptions): Promise<string> {
  const logFile = join(config.dataDir, 'logs', 'postgres.log');
  const { adminUrl } = await supervisor.start(
    { name: 'PostgreSQL', kind: 'database', logFile },
    () =>
      startEmbeddedPostgres({
        ...shared,
        dataDir: postgresFolder(config.dataDir),
        port: config.postgresPort,
        cacheRoot: cacheRoot(config.cacheHome),
        logFile,
        settings: { max_connections: MAX_CONNECTIONS },
      }),
  );
  return adminUrl;
}

/** The service's own database, with an owner for migrations and a login for everything else. */
async function serviceDatabase({ config, secrets }: ServersOptions, adminUrl: string) {
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

async function temporalUi(options: ServersOptions, temporalAddress: string) {
  const { config, supervisor, ...shared } = options;
  const program = await findTemporalUi(programOptions(options));
  if (program === undefined) return undefined;
  const logFile = join(config.dataDir, 'logs', 'temporal-ui.log');
  const { url } = await supervisor.start({ name: 'Temporal Web UI', kind: 'server', logFile }, () =>
    startTemporalUi({
      ...shared,
      program,
      folder: temporalFolder(config.dataDir),
      temporalAddress,
      namespace: config.temporalNamespace,
      port: config.temporalUiPort,
      logFile,
    }),
  );
  return url;
}

function programOptions({ config, env, log, signal, guard }: ServersOptions) {
  const { temporalProgramsDir, cacheHome } = config;
  return { temporalProgramsDir, cacheRoot: cacheRoot(cacheHome), env, log, signal, guard };
}

async function temporal(options: ServersOptions, adminUrl: string) {
  const { config, supervisor, secrets, ...shared } = options;
  if (config.temporalAddress !== undefined) {
    return { temporalAddress: config.temporalAddress, temporalUiUrl: undefined };
  }
  const programs = await findTemporalServer(programOptions(options));
  const logFile = join(config.dataDir, 'logs', 'temporal.log');
  const { address } = await supervisor.start({ name: 'Temporal', kind: 'server', logFile }, () =>
    startTemporalServer({
      ...shared,
      programs,
      adminUrl,
      login: { name: 'temporal', password: secrets.TEMPORAL_DATABASE_PASSWORD },
      folder: temporalFolder(config.dataDir),
      port: config.temporalPort,
      logFile,
    }),
  );
  return { temporalAddress: address, temporalUiUrl: await temporalUi(options, address) };
}

/**
 * Starts PostgreSQL, and Temporal on it, but for those that the settings name.
 *
 * @throws SetupError with what went wrong and what to do about it.
 */
export async function startServers(options: ServersOptions): Promise<Servers> {
  const adminUrl = needsPostgres(options.config) ? await startPostgres(options) : '';
  const [database, addresses] = await Promise.all([
    serviceDatabase(options, adminUrl),
    temporal(options, adminUrl),
  ]);
  return { ...database, ...addresses };
}
