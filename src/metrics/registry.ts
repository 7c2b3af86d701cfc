import { collectDefaultMetrics, Registry } from 'prom-client';

/**
 * Metrics that belong together: a file beside this one, which adds them to the registry.
 *
 * @returns what lets go of the family's sources
 */
export type MetricFamily = (registry: Registry) => () => void;

/** The metrics of this process. */
export interface Metrics {
  readonly contentType: string;
  /** All of them in Prometheus' text format, as they are at this moment. */
  text(): Promise<string>;
  /** From now on nothing is counted. */
  close(): void;
}

/**
 * The whole name of a metric of the service. Those of the process keep the names that they have in
 * every Node process.
 */
export const nameOf = (name: string) => `payment_order_service_${name}`;

/** Collects the metrics of this process: Node's own, and those of each family. */
export function createMetrics(families: readonly MetricFamily[]): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const closers = families.map((addTo) => addTo(registry));
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close() {
      for (const close of closers) close();
      registry.clear();
    },
  };
}
