import { Counter, Histogram } from '@prometheus-io/client';
import type { MetricFamily } from './registry.ts';
import { metricName } from './registry.ts';

/** Up to five HTTP requests of 10 s each. */
const SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50];

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
      buckets: SECONDS,
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
