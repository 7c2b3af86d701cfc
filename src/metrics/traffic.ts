import type { Logger } from 'pino';
import { Counter, Histogram } from '@prometheus-io/client';
import { onRequestAnswered } from '../http/request-context.ts';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';
import { metricName } from './registry.ts';

/** Up to the contract's limit of 5 s. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Requests that no route matches have this route: their paths would make a time series each. */
const UNMATCHED = 'unmatched';

/** The methods that a route can have, and those that browsers send. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** The requests of the API and of every page, by the path that their route declares. */
export function httpMetrics(): MetricFamily {
  return (registry) => {
    const duration = new Histogram({
      name: metricName('http_request_duration_seconds'),
      help: 'How long this process took to answer a request.',
      labelNames: ['method', 'route', 'status'],
      buckets: REQUEST_SECONDS,
      registers: [registry],
    });
    return onRequestAnswered(({ method, route = UNMATCHED, status, durationMs }) => {
      const known = METHODS.has(method) ? method : 'other';
      duration.observe({ method: known, route, status }, durationMs / 1000);
    });
  };
}

/** Up to the limit of an attempt, 15 s. */
const ATTEMPT_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15];

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
      buckets: ATTEMPT_SECONDS,
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

/** Up to five HTTP requests of 10 s each. */
const CALL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50];

/** A call of a payment gateway that has ended. */
interface EndedCall {
  gateway: string;
  environment: string;
  operation: string;
  outcome: string;
  durationMs: number;
}

/** The calls that this process makes to the payment gateways. */
export function gatewayMetrics(
  outcomes: readonly string[],
  onCallEnded: (listener: (call: EndedCall) => void) => () => void,
): MetricFamily {
  return (registry) => {
    const registers = [registry];
    const calls = new Counter({
      name: metricName('gateway_calls_total'),
      help: 'Calls to a payment gateway that this process has made, by their outcome.',
      labelNames: ['gateway', 'environment', 'operation', 'outcome'],
      registers,
    });
    const duration = new Histogram({
      name: metricName('gateway_call_duration_seconds'),
      help: 'How long the calls to a payment gateway took.',
      labelNames: ['gateway', 'environment', 'operation'],
      buckets: CALL_SECONDS,
      registers,
    });
    return onCallEnded(({ outcome, durationMs, ...call }) => {
      // The other outcomes begin at 0, so that the first failure shows as an increase.
      for (const other of outcomes)
        calls.inc({ ...call, outcome: other }, other === outcome ? 1 : 0);
      duration.observe(call, durationMs / 1000);
    });
  };
}
