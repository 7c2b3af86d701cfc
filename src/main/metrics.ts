import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { connectDatabase } from '../db/client.ts';
import { listenOn } from './listen.ts';
import { alertMetrics } from '../metrics/alerts.ts';
import { serveMetrics } from '../metrics/listener.ts';
import { createMetrics } from '../metrics/registry.ts';

/**
 * Serves the metrics of this process at METRICS_PORT; does nothing if that is not set.
 *
 * @throws SetupError if it cannot listen on the port
 */
export async function startMetrics(
  { host, metricsPort: port }: Pick<Config, 'host' | 'metricsPort'>,
  databaseUrl: string,
  log: Logger,
): Promise<{ stop(): Promise<void> }> {
  if (port === undefined) return { stop: async () => {} };
  // A separate connection, so that scrapes and requests do not wait for each other.
  const sql = connectDatabase(databaseUrl, { name: 'metrics', maxConnections: 1 });
  const metrics = createMetrics([alertMetrics({ sql, log })]);
  const server = await listenOn({ host, port, variable: 'METRICS_PORT' }, (place) =>
    serveMetrics(metrics, { ...place, log }),
  );
  log.info({ port }, 'Metrics are served');
  return {
    async stop() {
      await server.stop();
      metrics.close();
      await sql.end({ timeout: 1 });
    },
  };
}
