import { Client } from '@temporalio/client';
import { loadConfig, required } from '../config.ts';
import { migrate } from '../db/migrate.ts';
import { grantServicePrivileges } from '../db/privileges.ts';
import { ensureNamespace } from '../temporal/namespaces.ts';
import { ensureSchedules } from '../temporal/schedules.ts';
import { registerSearchAttributes } from '../temporal/search-attributes.ts';
import { runMain } from './process/process.ts';
import { openTemporal } from './process/temporal.ts';
import { SetupError } from '../setup-error.ts';

/** The minimum of a Temporal server: the namespace has thousands of short runs a day. */
const HOUSEKEEPING_RETENTION_DAYS = 1;

/**
 * Migrates PostgreSQL's schema, and Temporal's namespaces, search attributes and Schedules.
 * With MIGRATION_DATABASE_URL, that login owns the tables, and the login of DATABASE_URL gets only
 * the privileges that the service needs.
 */
await runMain(
  {
    name: 'migrate',
    does: "Migrates PostgreSQL's schema, and Temporal's namespaces and Schedules.",
    load: loadConfig,
  },
  async (config, log) => {
    const databaseUrl = required(config, 'DATABASE_URL');
    const { client: temporal } = await openTemporal(config, log);
    const { temporalNamespace: namespace, temporalHousekeepingNamespace: housekeeping } = config;
    const ownerUrl = config.migrationDatabaseUrl ?? databaseUrl;
    log.info(
      { applied: await migrate(ownerUrl).catch(refuseOlderSchema) },
      'PostgreSQL is up to date',
    );
    const login = decodeURIComponent(new URL(databaseUrl).username);
    if (config.migrationDatabaseUrl !== undefined) await grantServicePrivileges(ownerUrl, login);
    await ensureNamespace(temporal, namespace);
    await registerSearchAttributes(temporal, namespace);
    await ensureNamespace(temporal, housekeeping, HOUSEKEEPING_RETENTION_DAYS);
    await ensureSchedules(
      new Client({ connection: temporal.connection, namespace: housekeeping }),
      config.durations,
    );
    log.info('Temporal is up to date');
    await temporal.connection.close();
  },
);

/** Before 1.0 the tables of an older version are not kept: their migrations have changed. */
function refuseOlderSchema(error: unknown): never {
  if (!(error instanceof Error) || !error.message.includes('checksum failed')) throw error;
  throw new SetupError(
    "The database was made by an older version of this service, whose tables and workflows differ: use a new database and a new Temporal namespace (on a developer's machine: another DATA_DIR)",
    { cause: error },
  );
}
