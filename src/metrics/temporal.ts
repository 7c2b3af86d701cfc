import type { Logger } from 'pino';
import type { TaskQueueState } from '../temporal/task-queues.ts';
import type { Sample } from './reading.ts';
import { addGauge, createReading } from './reading.ts';
import type { MetricFamily } from './registry.ts';

/** The metrics of a task queue, with the value of each. */
const GAUGES = [
  {
    name: 'task_queue_backlog',
    help: 'Tasks that wait for a worker, as Temporal estimates them.',
    valueOf: ({ backlog }: TaskQueueState) => backlog,
  },
  {
    name: 'task_queue_backlog_age_seconds',
    help: 'How long the first of the waiting tasks has waited, as Temporal estimates it.',
    valueOf: ({ oldestAgeSeconds }: TaskQueueState) => oldestAgeSeconds,
  },
  {
    name: 'task_queue_pollers',
    help: 'Worker processes that have polled the task queue within the last two minutes.',
    valueOf: ({ pollers }: TaskQueueState) => pollers,
  },
];

/** The task queues at Temporal: each process reports the same numbers. */
export function taskQueueMetrics(
  readTaskQueues: () => Promise<readonly TaskQueueState[]>,
  log: Logger,
): MetricFamily {
  const read = createReading(readTaskQueues, { what: 'the task queues', log });
  return (registry) => {
    for (const { name, help, valueOf } of GAUGES) {
      const gauge = { name, help, labelNames: ['task_queue', 'type'] };
      addGauge(registry, gauge, read, (states) =>
        states.map((state): Sample => [
          { task_queue: state.taskQueue, type: state.type },
          valueOf(state),
        ]),
      );
    }
    return () => {};
  };
}

/**
 * Reads the metrics that Temporal's SDK serves itself, as text. Its native core cannot hand them over in
 * another way that keeps their histograms.
 *
 * @param address where it serves them, host:port
 * @returns the text; empty if it cannot be read
 */
export function createSdkReading(address: string, log: Logger): () => Promise<string> {
  const fetchText = async () => {
    const answer = await fetch(`http://${address}/metrics`);
    if (!answer.ok) throw new Error(`The SDK answered with status ${answer.status}`);
    return answer.text();
  };
  const read = createReading(fetchText, { what: "the metrics of Temporal's SDK", log });
  return async () => (await read()) ?? '';
}
