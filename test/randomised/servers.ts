import { join } from 'node:path';
import postgres from 'postgres';
import { databaseUrl, ensureLogin } from '../../dev/postgres/databases.ts';
import { startEmbeddedPostgres } from '../../dev/postgres/server.ts';
import { findTemporalServer } from '../../dev/temporal-on-postgres/programs.ts';
import { startTemporalServer } from '../../dev/temporal-on-postgres/server.ts';
import type { TemporalServer } from '../../dev/processes/temporal-process.ts';
import { inheritedEnvironment } from '../../src/settings.ts';
import { loadDevConfig } from '../../dev/config.ts';
import { cacheRoot } from '../../dev/files/cache.ts';
import type { Guard } from '../../dev/processes/guard.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { SERVICE_LOGIN } from '../support/service-login.ts';
import type { Side } from './disturbances.ts';

const SERVICE_DATABASE = 'service';
const TEMPORAL_LOGIN = { name: 'temporal', password: 'temporal' };

/** The databases of each side, which are copied and restored together. */
const DATABASES: Record<Side, readonly string[]> = {
  postgres: [SERVICE_DATABASE],
  temporal: ['temporal', 'temporal_visibility'],
};
const OWNERS: Record<Side, string> = { postgres: 'postgres', temporal: TEMPORAL_LOGIN.name };

/** The data is temporary, so PostgreSQL does not wait for the disk. */
const POSTGRES_SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: 300,
};

const GONE_WITHIN_MS = 5000;

/**
 * Starts a separate PostgreSQL and Temporal server for a run, whose databases can be copied and
 * restored while the service runs. Temporal is not started yet.
 */
export async function startServers(folder: string, guard: Guard) {
  const { temporalProgramsDir, cacheHome } = loadDevConfig();
  const env = inheritedEnvironment();
  const shared = { env, log: () => undefined, guard, cacheRoot: cacheRoot(cacheHome) };
  const postgresServer = await startEmbeddedPostgres({
    ...shared,
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    logFile: join(folder, 'logs', 'postgres.log'),
    settings: POSTGRES_SETTINGS,
  });
  const { adminUrl } = postgresServer;
  const programs = await findTemporalServer({ ...shared, temporalProgramsDir });
  const temporalPort = await freePort();
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  await ensureLogin(adminUrl, SERVICE_LOGIN);
  await admin.unsafe(`CREATE DATABASE ${SERVICE_DATABASE}`);
  let temporal: TemporalServer | undefined;

  const ownerUrl = new URL(adminUrl);
  ownerUrl.pathname = `/${SERVICE_DATABASE}`;
  return {
    /** The URL with which the service connects. */
    databaseUrl: databaseUrl(adminUrl, SERVICE_DATABASE, SERVICE_LOGIN),
    /** The owner's URL, for migrations and for tests that read everything. */
    ownerUrl: ownerUrl.href,
    temporalAddress: `127.0.0.1:${temporalPort}`,
    async startTemporal() {
      temporal = await startTemporalServer({
        ...shared,
        programs,
        adminUrl,
        login: TEMPORAL_LOGIN,
        folder: join(folder, 'temporal'),
        port: temporalPort,
        immediateSearchAttributes: true,
        logFile: join(folder, 'logs', 'temporal.log'),
      });
    },
    async stopTemporal() {
      await temporal?.stop();
      temporal = undefined;
    },
    /** Copies a side as it is now. Closes its connections; clients may connect again. */
    async copy(side: Side, name: string) {
      for (const database of DATABASES[side]) await copy(admin, database, name, OWNERS[side]);
    },
    /** Replaces a side with a copy: everything written since is lost. */
    async restore(side: Side, name: string) {
      for (const database of DATABASES[side]) {
        await replace(admin, database, `${database}_${name}`, OWNERS[side]);
      }
    },
    async stop() {
      await temporal?.stop();
      await admin.end({ timeout: 1 });
      await postgresServer.stop();
    },
  };
}
export type Servers = Awaited<ReturnType<typeof startServers>>;

/** Closes all connections to a database, which PostgreSQL requires before it copies it. */
async function copy(admin: postgres.Sql, database: string, name: string, owner: string) {
  await admin.unsafe(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
  try {
    await admin`
      SELECT pg_terminate_backend(pid, ${GONE_WITHIN_MS}) FROM pg_stat_activity
      WHERE datname = ${database}`;
    await replace(admin, `${database}_${name}`, database, owner);
  } finally {
    await admin.unsafe(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
  }
}

async function replace(admin: postgres.Sql, database: string, template: string, owner: string) {
  await admin.unsafe(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  await admin.unsafe(`CREATE DATABASE ${database} TEMPLATE ${template} OWNER ${owner}`);
}
