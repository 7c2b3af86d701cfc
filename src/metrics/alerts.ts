import type { Logger } from 'pino';
import { Counter, Gauge } from 'prom-client';
import { countOpenAlerts, onAlertRaised } from '../alerts/alerts.ts';
import { ALERT_KINDS } from '../alerts/kinds.ts';
import type { Sql } from '../db/client.ts';
import { withinTimeout } from '../http/deadline.ts';
import type { MetricFamily } from './registry.ts';
import { nameOf } from './registry.ts';

/** Prometheus gives a scrape up after 10 s, and with it what needs no database. */
const READ_TIMEOUT_MS = 3000;

const KINDS = Object.keys(ALERT_KINDS);

/** The alerts that are open, as the database has them, and those that this process has raised. */
export function alertMetrics({ sql, log }: { sql: Sql; log: Logger }): MetricFamily {
  return (registry) => {
    const registers = [registry];
    const open = new Gauge({
      name: nameOf('alerts_open'),
      help: 'Alerts that nobody has cleared, in the whole service: the same from each of its processes.',
      labelNames: ['kind'],
      registers,
      async collect() {
        const counts = await readOpen(sql, log);
        // Without an answer there is no figure: an old one would look like a new one.
        open.reset();
        if (!counts) return;
        for (const kind of KINDS) open.set({ kind }, 0);
        for (const { kind, count } of counts) open.set({ kind }, count);
      },
    });
    const raised = new Counter({
      name: nameOf('alerts_raised_total'),
      help: 'Alerts that this process has raised since it started, repeated ones included.',
      labelNames: ['kind'],
      registers,
    });
    // A kind that has never been raised is 0, so that its first time is seen as an increase.
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
