import { freePort } from '../../dev/processes/ports.ts';
import { createReadiness } from '../../src/http/server/readiness.ts';
import { startMetrics } from '../../src/main/process/metrics.ts';
import type { TestService } from '../support/service.ts';

/** The metrics of this process, in which the service under test runs. */
export async function serveMetrics(
  { config, log, temporal: { client } }: TestService,
  { databaseUrl = config.databaseUrl ?? '', temporal = client, metricsPort = 0 } = {},
) {
  const port = metricsPort || (await freePort());
  const measured = { name: 'api', readiness: createReadiness({}), databaseUrl, temporal, log };
  const { stop } = await startMetrics({ host: '127.0.0.1', metricsPort: port }, measured);
  const scrape = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return { stop, scrape };
}
