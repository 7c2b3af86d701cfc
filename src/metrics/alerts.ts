import type { Logger } from 'pino';
import { Counter, Gauge } from 'prom-client';
import { countOpenAlerts, onAlertRaised } from '../alerts/alerts.ts';
import { ALERT_KINDS } from '../alerts/kinds.ts';
import type { Sql } from '../db/client.ts';
import { withinTimeout } from '../http/deadline.ts';
import type { MetricFamily } from './registry.ts';
import { metricName } from './registry.ts';

/** Well below Prometheus' limit of 10 s for a scrape, so that a slow database loses only this metric. */
const READ_TIMEOUT_MS = 3000;

const KINDS = Object.keys(ALERT_KINDS);

/** The number of open alerts in the database, and of alerts that this process has raised. */
export function alertMetrics({ sql, log }: { sql: Sql; log: Logger }): MetricFamily {
  return (registry) => {
    const registers = [registry];
    const open = new Gauge({
      name: metricName('alerts_open'),
      help: 'Open alerts of the whole service: each of its processes reports the same number.',
      labelNames: ['kind'],
      registers,
      async collect() {
        const counts = await readOpen(sql, log);
        // If the database does not respond, the metric has no value: an old one would mislead.
        open.reset();
        if (!counts) return;
        for (const kind of KINDS) open.set({ kind }, 0);
        for (const { kind, count } of counts) open.set({ kind }, count);
      },
    });
    const raised = new Counter({
      name: metricName('alerts_raised_total'),
      help: 'Alerts that this process has raised since it started, repeated ones included.',
      labelNames: ['kind'],
      registers,
    });
    // A kind that was never raised is 0, so that its first alert shows as an increase.
    for (const kind of KINDS) raised.inc({ kind }, 0);
    return onAlertRaised((kind) => raised.inc({ kind }));
  };
}

async function readOpen(sql: Sql, log: Logger) {
  try {
    return await withinTimeout(countOpenAlerts(sql), READ_TIMEOUT_MS);
  } catch (err) {
    log.warn({ err }, 'The open alerts could not be counted for the metrics');
    return undefined;
  }
}
