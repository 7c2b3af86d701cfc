import type { Logger } from 'pino';
import { Counter, Histogram } from '@prometheus-io/client';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';
import { metricName } from './registry.ts';

/** Up to the limit of an attempt, 15 s. */
const SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

/** Where the figures of webhooks come from. */
export interface WebhookSources {
  /** Every outcome that an attempt can have. */
  readonly outcomes: readonly string[];
  readonly onAttemptMade: (
    listener: (attempt: { outcome: string; durationMs: number; isGivenUp: boolean }) => void,
  ) => () => void;
  readonly oldestDueSeconds: () => Promise<number>;
}

/** The attempts of this process, and how late the service is with the delivery that waits longest. */
export function webhookMetrics(
  { outcomes, onAttemptMade, oldestDueSeconds }: WebhookSources,
  log: Logger,
): MetricFamily {
  const read = createReading(oldestDueSeconds, { what: 'the oldest due webhook', log });
  return (registry) => {
    const registers = [registry];
    const attempts = new Counter({
      name: metricName('webhook_attempts_total'),
      help: 'Attempts to deliver a webhook that this process has made, by their outcome.',
      labelNames: ['outcome'],
      registers,
    });
    for (const outcome of outcomes) attempts.inc({ outcome }, 0);
    const duration = new Histogram({
      name: metricName('webhook_attempt_duration_seconds'),
      help: 'How long the attempts of this process took.',
      buckets: SECONDS,
      registers,
    });
    const failed = new Counter({
      name: metricName('webhook_deliveries_failed_total'),
      help: 'Deliveries whose last attempt this process has made without success.',
      registers,
    });
    const due = {
      name: 'webhook_oldest_due_seconds',
      help: 'How long the delivery that waits longest has been due; 0 if none is due.',
    };
    addGauge(registry, due, read, (seconds) => [[{}, seconds]]);
    return onAttemptMade(({ outcome, durationMs, isGivenUp }) => {
      attempts.inc({ outcome });
      duration.observe(durationMs / 1000);
      if (isGivenUp) failed.inc();
    });
  };
}
