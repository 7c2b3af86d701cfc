import { Histogram } from '@prometheus-io/client';
import { onRequestAnswered } from '../http/request-context.ts';
import type { MetricFamily } from './registry.ts';
import { metricName } from './registry.ts';

/** Up to the contract's limit of 5 s. */
const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

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
      buckets: SECONDS,
      registers: [registry],
    });
    return onRequestAnswered(({ method, route = UNMATCHED, status, durationMs }) => {
      const known = METHODS.has(method) ? method : 'other';
      duration.observe({ method: known, route, status }, durationMs / 1000);
    });
  };
}
