import type { Logger } from 'pino';
import { Counter } from '@prometheus-io/client';
import { countOpenAlerts, onAlertRaised } from '../alerts/alerts.ts';
import { ALERT_KINDS } from '../alerts/kinds.ts';
import type { Sql } from '../db/client.ts';
import type { Sample } from './reading.ts';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';
import { metricName } from './registry.ts';

const KINDS = Object.keys(ALERT_KINDS);

/** The number of open alerts in the database, and of alerts that this process has raised. */
export function alertMetrics({ sql, log }: { sql: Sql; log: Logger }): MetricFamily {
  const read = createReading(() => countOpenAlerts(sql), { what: 'the open alerts', log });
  return (registry) => {
    const open = {
      name: 'alerts_open',
      help: 'Open alerts of the whole service: each of its processes reports the same number.',
      labelNames: ['kind'],
    };
    addGauge(registry, open, read, (counts) => [
      ...KINDS.map((kind): Sample => [{ kind }, 0]),
      ...counts.map(({ kind, count }): Sample => [{ kind }, count]),
    ]);
    const raised = new Counter({
      name: metricName('alerts_raised_total'),
      help: 'Alerts that this process has raised since it started, repeated ones included.',
      labelNames: ['kind'],
      registers: [registry],
    });
    // A kind that was never raised is 0, so that its first alert shows as an increase.
    for (const kind of KINDS) raised.inc({ kind }, 0);
    return onAlertRaised((kind) => raised.inc({ kind }));
  };
}
