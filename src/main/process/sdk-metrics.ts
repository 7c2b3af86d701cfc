import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { MetricsExporterConfig } from '@temporalio/worker';

/** The SDK serves its metrics itself; only this process reads them there. */
const LOOPBACK = '127.0.0.1';

/** The SDK's metrics in Prometheus' conventions: seconds, `_total`, the unit in the name. */
export interface SdkMetrics {
  /** host:port */
  readonly address: string;
  readonly exporter: MetricsExporterConfig;
}

/** Chooses where Temporal's SDK serves its metrics: a free port of the loopback interface. */
export async function chooseSdkMetrics(): Promise<SdkMetrics> {
  const server = createServer().listen(0, LOOPBACK);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  const address = `${LOOPBACK}:${port}`;
  const prometheus = {
    bindAddress: address,
    countersTotalSuffix: true,
    unitSuffix: true,
    useSecondsForDurations: true,
  };
  return { address, exporter: { prometheus } };
}
