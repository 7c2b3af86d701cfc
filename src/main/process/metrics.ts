import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Sql } from '../../db/client.ts';
import { connectDatabase } from '../../db/client.ts';
import type { Readiness } from '../../http/server/readiness.ts';
import { listProofs } from '../../ledger/proofs.ts';
import { alertMetrics } from '../../metrics/alerts.ts';
import { readinessMetrics, serveMetrics } from '../../metrics/listener.ts';
import { ledgerMetrics, reconciliationMetrics } from '../../metrics/ledger-and-reconciliation.ts';
import { orderMetrics } from '../../metrics/orders.ts';
import { READ_TIMEOUT_MS } from '../../metrics/reading.ts';
import type { MetricFamily } from '../../metrics/registry.ts';
import { createMetrics } from '../../metrics/registry.ts';
import { gatewayMetrics, httpMetrics, webhookMetrics } from '../../metrics/traffic.ts';
import { createSdkReading, taskQueueMetrics } from '../../metrics/temporal.ts';
import { readOrderTotals } from '../../orders/lists/order-totals.ts';
import { GATEWAY_OUTCOMES, onGatewayCallEnded } from '../../payments/gateway/observed-gateway.ts';
import { reconciliationLagSeconds } from '../../payments/reconcile/reconcile.ts';
import { readTaskQueues } from '../../temporal/task-queues.ts';
import { onAttemptMade } from '../../webhooks/schedule/attempt.ts';
import { oldestDueSeconds } from '../../webhooks/schedule/attempt-log.ts';
import { ATTEMPT_OUTCOMES } from '../../webhooks/sending/exchange.ts';
import { listenOn } from './listen.ts';

/** The process whose metrics are served. */
export interface MeasuredProcess {
  /** `api` or `worker`. */
  readonly name: string;
  readonly readiness: Readiness;
  /** False when only a restart helps; absent if the process exits then. */
  readonly isAlive?: () => boolean;
  readonly databaseUrl: string;
  readonly temporal: Client;
  /** Where Temporal's SDK serves its own metrics, host:port; absent if it has none. */
  readonly sdkMetricsAddress?: string | undefined;
  readonly log: Logger;
}

/**
 * Serves the metrics and the health of this process at METRICS_PORT; does nothing if that is not set.
 *
 * @throws SetupError if it cannot listen on the port
 */
export async function startMetrics(
  { host, metricsPort: port }: Pick<Config, 'host' | 'metricsPort'>,
  measured: MeasuredProcess,
): Promise<{ stop(): Promise<void> }> {
  if (port === undefined) return { stop: async () => {} };
  const { databaseUrl, sdkMetricsAddress, isAlive = () => true, readiness, log } = measured;
  // Separate connections, so that scrapes and requests do not wait for each other.
  const sql = connectDatabase(databaseUrl, {
    name: 'metrics',
    maxConnections: 2,
    statementTimeoutMs: READ_TIMEOUT_MS,
  });
  const readSdk = sdkMetricsAddress ? createSdkReading(sdkMetricsAddress, log) : undefined;
  const metrics = createMetrics(familiesOf(measured, sql), readSdk);
  const server = await listenOn({ host, port, variable: 'METRICS_PORT' }, (place) =>
    serveMetrics({ metrics, isAlive, readiness }, { ...place, log }),
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

/** Every family of metrics. What the process does not do, such as answering requests, stays at 0. */
function familiesOf({ name, readiness, temporal, log }: MeasuredProcess, sql: Sql): MetricFamily[] {
  const webhooks = {
    outcomes: ATTEMPT_OUTCOMES,
    onAttemptMade,
    oldestDueSeconds: () => oldestDueSeconds(sql),
  };
  const latestProof = async () => (await listProofs(sql, {}, 1)).proofs[0];
  return [
    readinessMetrics(name, readiness),
    httpMetrics(),
    orderMetrics(() => readOrderTotals(sql), { log }),
    webhookMetrics(webhooks, log),
    gatewayMetrics(GATEWAY_OUTCOMES, onGatewayCallEnded),
    alertMetrics({ sql, log }),
    reconciliationMetrics(() => reconciliationLagSeconds(sql), log),
    ledgerMetrics(latestProof, log),
    taskQueueMetrics(() => readTaskQueues(temporal, READ_TIMEOUT_MS), log),
  ];
}
