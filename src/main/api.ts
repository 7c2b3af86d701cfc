import { loadConfig, required } from '../config.ts';
import { connectDatabase } from '../db/client.ts';
import { startHttpServer } from '../http/server/server.ts';
import { listenOn } from './process/listen.ts';
import { composeApi } from './compose/compose.ts';
import { startMetrics } from './process/metrics.ts';
import { runMain, stopRequested } from './process/process.ts';
import { openTemporal } from './process/temporal.ts';
import { startTracing } from './process/tracing.ts';

await runMain(
  { name: 'api', does: 'Serves the API, the payment pages and the dashboard.', load: loadConfig },
  async (config, log) => {
    const databaseUrl = required(config, 'DATABASE_URL');
    const tracing = await startTracing(config, 'api', log);
    const { client: temporal } = await openTemporal(config, log, tracing.client);
    const sql = connectDatabase(databaseUrl, { name: 'api', maxConnections: 20 });
    const { app, readiness, background } = await composeApi({ config, sql, temporal, log });
    const wanted = { host: config.host, port: config.port, variable: 'PORT' };
    const server = await listenOn(wanted, (place) =>
      startHttpServer(app, { ...place, readiness, log }),
    );
    const measured = { name: 'api', readiness, databaseUrl, temporal, log };
    const metrics = await startMetrics(config, measured);
    log.info({ port: server.port }, 'The API accepts requests');
    await stopRequested();
    await server.stop();
    await background.finish();
    await metrics.stop();
    await tracing.stop();
    await sql.end({ timeout: 1 });
    // The Temporal connection is not closed: closing would raise an error in any call that is waiting
    // for its next retry.
  },
);
