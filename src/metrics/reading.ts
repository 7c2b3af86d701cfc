import type { Logger } from 'pino';
import type { Registry } from '@prometheus-io/client';
import { Gauge } from '@prometheus-io/client';
import { withinTimeout } from '../http/limits/deadline.ts';
import { metricName } from './registry.ts';

/** Well below Prometheus' limit of 10 s for a scrape, so that a slow server loses only its metrics. */
export const READ_TIMEOUT_MS = 3000;

/** How a value is read for metrics. */
export interface ReadingOptions {
  /** What is read, for the log: `the orders`. */
  readonly what: string;
  readonly log: Logger;
  /** How long a value is reported again before it is read again; 0 ms if absent. */
  readonly keepForMs?: number;
}

/**
 * Creates the function that reads a value of PostgreSQL or Temporal for a scrape. It never throws: if
 * the server does not answer within 3 s, the value is undefined, and the log has one line until the
 * server answers again. At most one read is under way: a scrape during a slow one waits for the same.
 */
export function createReading<Value>(
  read: () => Promise<Value>,
  { what, log, keepForMs = 0 }: ReadingOptions,
): () => Promise<Value | undefined> {
  let underWay: Promise<Value> | undefined;
  let kept: { value: Value; untilMs: number } | undefined;
  let isFailing = false;

  async function readOnce(): Promise<Value> {
    try {
      return await read();
    } finally {
      underWay = undefined;
    }
  }

  return async () => {
    if (kept && performance.now() < kept.untilMs) return kept.value;
    try {
      underWay ??= readOnce();
      const value = await withinTimeout(underWay, READ_TIMEOUT_MS);
      if (keepForMs > 0) kept = { value, untilMs: performance.now() + keepForMs };
      if (isFailing) log.info({ what }, 'The metrics are read again');
      isFailing = false;
      return value;
    } catch (err) {
      if (!isFailing) log.warn({ err, what }, 'The metrics could not be read');
      isFailing = true;
      // An old value would mislead.
      kept = undefined;
      return undefined;
    }
  };
}

/** A value of a gauge, with its labels. */
export type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/**
 * Adds a gauge that is read for each scrape. While it cannot be read, it has no value.
 *
 * @param samplesOf its values; a later one replaces an earlier one with the same labels
 */
export function addGauge<Value>(
  registry: Registry,
  { name, help, labelNames = [] }: { name: string; help: string; labelNames?: string[] },
  read: () => Promise<Value | undefined>,
  samplesOf: (value: Value) => readonly Sample[],
): void {
  const gauge = new Gauge({
    name: metricName(name),
    help,
    labelNames,
    registers: [registry],
    async collect() {
      const value = await read();
      gauge.reset();
      // A gauge without labels is 0 after its reset.
      if (labelNames.length === 0) gauge.remove();
      if (value === undefined) return;
      for (const [labels, number] of samplesOf(value)) gauge.set(labels, number);
    },
  });
}
