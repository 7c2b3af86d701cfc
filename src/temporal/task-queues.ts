import type { Client } from '@temporalio/client';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../contracts/ids.ts';
import { secondsOf } from './client.ts';

/** The kinds of tasks that workers poll for. The money queue has only activities. */
const POLLED = [
  { taskQueue: TASK_QUEUE, type: 'workflow', taskQueueType: 1 },
  { taskQueue: TASK_QUEUE, type: 'activity', taskQueueType: 2 },
  { taskQueue: MONEY_TASK_QUEUE, type: 'activity', taskQueueType: 2 },
] as const;

/** A poll takes up to 70 s when there is no task. */
const POLLED_WITHIN_MS = 120_000;

/** The state of one kind of tasks in a task queue. */
export interface TaskQueueState {
  taskQueue: string;
  type: 'workflow' | 'activity';
  /**
   * An estimate of the tasks that no worker has taken. Tasks for the worker that has the workflow cached are not
   * counted.
   */
  backlog: number;
  /** How long the oldest of them has waited; 0 without one. */
  oldestAgeSeconds: number;
  /** Worker processes that have polled within the last two minutes. */
  pollers: number;
}

/**
 * Reads the state of the orders' task queues.
 *
 * @param timeoutMs the limit for all calls together
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
