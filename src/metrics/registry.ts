import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * Adds metrics that belong together to a registry.
 *
 * @returns a function that unsubscribes from their sources
 */
export type MetricFamily = (registry: Registry) => () => void;

/** The metrics of this process. */
export interface Metrics {
  readonly contentType: string;
  /** The current values in Prometheus' text format. */
  text(): Promise<string>;
  /** Stops counting. */
  close(): void;
}

/**
 * The full name of a metric of the service. Node's process metrics keep their usual names.
 */
export const metricName = (name: string) => `payment_order_service_${name}`;

/**
 * Collects the metrics of this process: Node's own, and those of each family.
 *
 * @param readMore metrics that another library of the process already has as text
 */
export function createMetrics(
  families: readonly MetricFamily[],
  readMore: () => Promise<string> = async () => '',
): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const closers = families.map((addTo) => addTo(registry));
  return {
    contentType: registry.contentType,
    async text() {
      const parts = await Promise.all([registry.metrics(), readMore()]);
      return parts.join('');
    },
    close() {
      for (const close of closers) close();
      registry.clear();
    },
  };
}
