import type { Logger } from 'pino';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';

/** How late the service is with checking payments at the gateway. */
export function reconciliationMetrics(
  readLagSeconds: () => Promise<number>,
  log: Logger,
): MetricFamily {
  const read = createReading(readLagSeconds, { what: 'the lag of the reconciliation', log });
  return (registry) => {
    const lag = {
      name: 'reconciliation_lag_seconds',
      help: 'How overdue the most overdue check of a payment session at the gateway is.',
    };
    addGauge(registry, lag, read, (seconds) => [[{}, seconds]]);
    return () => {};
  };
}
