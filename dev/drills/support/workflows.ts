import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { ORDER_WORKFLOW } from '../../../src/contracts/ids.ts';
import { isFinal, type OrderStatus } from '../../../src/domain/index.ts';
import type { Drill } from './cluster.ts';
import { firstOf, prove } from './report.ts';
import { waitFor } from './wait.ts';

/** Temporal's list of workflows lags behind, and the service compares both sides every 30 s. */
const AGREED_WITHIN_MS = 90_000;
const FETCHED_AT_ONCE = 8;

/**
 * Proves that every open order has a running workflow, and that no other workflow runs, except those
 * that an alert names because the database has lost their rows.
 */
export async function proveWorkflows(drill: Drill): Promise<void> {
  let differing: string[] = [];
  let open = 0;
  const agreed = waitFor('rows and workflows agree', AGREED_WITHIN_MS, async () => {
    const rows = await drill.withSql(
      (sql) => sql<{ orderNumber: string; status: OrderStatus }[]>`
        SELECT order_number, status FROM orders`,
    );
    const alerted = new Set(await ordersWithoutRow(drill));
    const isOpen = new Map(rows.map((row) => [row.orderNumber, !isFinal(row.status)]));
    const running = new Set(await drill.withTemporal(runningOrders));
    open = [...isOpen.values()].filter(Boolean).length;
    differing = [
      ...[...isOpen].flatMap(([id, opens]) => (opens && !running.has(id) ? `${id} has none` : [])),
      ...[...running].flatMap((id) => (isOpen.get(id) || alerted.has(id) ? [] : `${id} runs`)),
    ];
    return differing.length === 0;
  });
  await agreed.catch(() => undefined);
  const figures = `${open} open orders ${firstOf(differing)}`.trim();
  prove(
    'Every open order has a running workflow, and no other order',
    differing.length === 0,
    figures,
  );
}

/** The orders that an alert names because the database has lost their rows. */
export function ordersWithoutRow({ withSql }: Drill): Promise<string[]> {
  return withSql(async (sql) => {
    const alerts = await sql<{ orderNumber: string }[]>`
      SELECT coalesce(details->>'orderNumber', subject) AS order_number FROM alerts
      WHERE kind IN ('order_without_row', 'payment_without_order') AND cleared_at IS NULL`;
    return alerts.map(({ orderNumber }) => orderNumber);
  });
}

async function runningOrders(client: Client): Promise<string[]> {
  const query = `WorkflowType = "${ORDER_WORKFLOW}" AND ExecutionStatus = "Running"`;
  const ids: string[] = [];
  for await (const { workflowId } of client.workflow.list({ query })) ids.push(workflowId);
  return ids;
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
