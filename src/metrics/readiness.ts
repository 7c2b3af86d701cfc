import type { Readiness } from '../http/server/readiness.ts';
import { addGauge } from './reading.ts';
import type { MetricFamily } from './registry.ts';

/**
 * Whether this process is ready, as its `/readyz` says, so that alerts need no other prober.
 *
 * @param part `api` or `worker`
 */
export function readinessMetrics(part: string, readiness: Readiness): MetricFamily {
  return (registry) => {
    const gauge = {
      name: 'ready',
      help: '1 if this process is ready, else 0.',
      labelNames: ['process'],
    };
    addGauge(registry, gauge, readiness.check, ({ ready }) => [[{ process: part }, ready ? 1 : 0]]);
    return () => {};
  };
}
