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
