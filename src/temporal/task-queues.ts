import type { Client } from '@temporalio/client';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../contracts/ids.ts';
import { secondsOf } from './timestamps.ts';

/** The kinds of tasks that the workers poll. The money queue has only activities. */
const POLLED = [
  { taskQueue: TASK_QUEUE, type: 'workflow', taskQueueType: 1 },
  { taskQueue: TASK_QUEUE, type: 'activity', taskQueueType: 2 },
  { taskQueue: MONEY_TASK_QUEUE, type: 'activity', taskQueueType: 2 },
] as const;

/** A poll takes up to 70 s when there is no task. */
const POLLED_WITHIN_MS = 120_000;

/** What Temporal knows of one kind of tasks of a task queue. */
export interface TaskQueueState {
  taskQueue: string;
  type: 'workflow' | 'activity';
  /** Tasks that no worker has taken; an estimate. Tasks for the worker that has the workflow cached are not counted. */
  backlog: number;
  /** How long the first of them has waited; 0 without one. */
  oldestAgeSeconds: number;
  /** Worker processes that have polled within the last two minutes. */
  pollers: number;
}

/**
 * Reads the task queues of the orders at Temporal.
 *
 * @param timeoutMs of the calls together
 * @throws Error if Temporal does not answer
 */
export async function readTaskQueues(client: Client, timeoutMs: number): Promise<TaskQueueState[]> {
  const { namespace } = client.options;
  return client.withDeadline(Date.now() + timeoutMs, () =>
    Promise.all(
      POLLED.map(async ({ taskQueue, type, taskQueueType }) => {
        const { stats, pollers } = await client.workflowService.describeTaskQueue({
          namespace,
          taskQueue: { name: taskQueue },
          taskQueueType,
          reportStats: true,
        });
        const polledSince = Date.now() - POLLED_WITHIN_MS;
        const recent = pollers.filter(
          ({ lastAccessTime }) => secondsOf(lastAccessTime) * 1000 > polledSince,
        );
        return {
          taskQueue,
          type,
          backlog: Number(stats?.approximateBacklogCount ?? 0),
          oldestAgeSeconds: secondsOf(stats?.approximateBacklogAge),
          pollers: new Set(recent.map(({ identity }) => identity)).size,
        };
      }),
    ),
  );
}
