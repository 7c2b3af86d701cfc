import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import type { Drill } from './cluster.ts';

const FETCHED_AT_ONCE = 8;

/** The orders that an alert names because the database has lost their rows. */
export function ordersWithoutRow({ withSql }: Drill): Promise<string[]> {
  return withSql(async (sql) => {
    const alerts = await sql<{ orderNumber: string }[]>`
      SELECT coalesce(details->>'orderNumber', subject) AS order_number FROM alerts
      WHERE kind IN ('order_without_row', 'payment_without_order') AND cleared_at IS NULL`;
    return alerts.map(({ orderNumber }) => orderNumber);
  });
}

const { EventType, WorkflowTaskFailedCause } = proto.temporal.api.enums.v1;
const UNHANDLED_COMMAND = WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;

/** What the histories of orders say about their workflow tasks. */
export interface Tasks {
  events: number;
  /** The order, the cause and the message of each task that failed. */
  readonly failed: string[];
  /**
   * Tasks that completed their workflow when an event had just arrived. Temporal refuses the completion,
   * and the worker makes the task again with the event: WorkflowTaskFailed with UNHANDLED_COMMAND.
   */
  madeAgain: number;
  timedOut: number;
  /** The orders whose history has the marker of a `patched()`. */
  readonly patched: Set<string>;
}

/** The name of the marker that `patched()` records. */
const PATCH_MARKER = 'core_patch';

/** Finds the workflow tasks in the histories of these orders that failed or timed out. */
export async function readTasks(client: Client, orderNumbers: readonly string[]): Promise<Tasks> {
  const tasks: Tasks = { events: 0, failed: [], madeAgain: 0, timedOut: 0, patched: new Set() };
  const queue = orderNumbers.values();
  const fetch = async () => {
    for (const orderNumber of queue) {
      const { events } = await client.workflow.getHandle(orderNumber).fetchHistory();
      for (const event of events ?? []) {
        tasks.events += 1;
        const { workflowTaskFailedEventAttributes: failed } = event;
        if (failed?.cause === UNHANDLED_COMMAND) tasks.madeAgain += 1;
        else if (failed) {
          const cause = WorkflowTaskFailedCause[failed.cause ?? 0];
          tasks.failed.push(`${orderNumber} ${cause} ${failed.failure?.message ?? ''}`.trim());
        }
        if (event.eventType === EventType.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) tasks.timedOut += 1;
        if (event.markerRecordedEventAttributes?.markerName === PATCH_MARKER)
          tasks.patched.add(orderNumber);
      }
    }
  };
  await Promise.all(Array.from({ length: FETCHED_AT_ONCE }, fetch));
  return tasks;
}
