import { migrate } from '../db/migrate.ts';
import { connectTemporal } from '../temporal/client.ts';
import { ensureSchedules } from '../temporal/schedules.ts';
import { registerSearchAttributes } from '../temporal/search-attributes.ts';
import { required } from './compose.ts';
import { createLog, runMain } from './process.ts';

/** Brings PostgreSQL's schema, and Temporal's search attributes and Schedules, up to date. */
await runMain(async (config) => {
  const databaseUrl = required(config.databaseUrl, 'DATABASE_URL', 'a postgres:// address');
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS', 'host:port');
  const namespace = config.temporalNamespace;
  const log = createLog(config, 'migrate');
  log.info({ applied: await migrate(databaseUrl) }, 'PostgreSQL is up to date');
  const temporal = connectTemporal({ address, namespace });
  await registerSearchAttributes(temporal, namespace);
  await ensureSchedules(temporal, config.durations);
  log.info('Temporal is up to date');
  await temporal.connection.close();
});
