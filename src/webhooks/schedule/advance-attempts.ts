import { setTimeout as sleep } from 'node:timers/promises';
import type { Sql } from '../../db/client.ts';
import type { PendingActivity, WorkflowInspector } from '../../temporal/pending-activities.ts';

/** The activity of the order's workflow that sends one webhook. */
const SENDS = 'sendWebhook';

/**
 * Creates the function that moves the waiting webhook attempts of a sandbox order closer and resets the workflow's
 * activities that wait for the next try, as `admin order retry` does. An attempt that is still not due waits for the
 * rest of its time.
 */
export function createAttemptClock({
  sql,
  inspector,
}: {
  sql: Sql;
  inspector: Pick<WorkflowInspector, 'inspect' | 'tryNow'>;
}) {
  /** @returns how many attempts were moved; attempts that are due already are not */
  return async function advanceAttempts(orderNumber: string, seconds: number): Promise<number> {
    const moved = await sql`
      UPDATE webhook_deliveries d SET
        next_attempt_at = next_attempt_at - ${seconds} * interval '1 second'
      FROM order_events e
      WHERE e.order_number = ${orderNumber} AND d.event_id = e.event_id
        AND d.state = 'PENDING' AND d.next_attempt_at > service_now()
      RETURNING d.delivery_id`;
    if (moved.length === 0) return 0;
    const sending = await untilNoneRuns(inspector, orderNumber);
    const waiting = sending.filter(({ state }) => state === 'waiting');
    await Promise.all(waiting.map((activity) => inspector.tryNow(activity, 0)));
    return moved.length;
  };
}

const ASK_AGAIN_AFTER_MS = 100;
const ASKED_WITHIN_MS = 2000;

/**
 * A try that has just ended in the database tells Temporal the wait that it read before the move. It is reset only
 * once Temporal has that wait.
 */
async function untilNoneRuns(
  inspector: Pick<WorkflowInspector, 'inspect'>,
  orderNumber: string,
): Promise<PendingActivity[]> {
  for (let waitedMs = 0; ; waitedMs += ASK_AGAIN_AFTER_MS) {
    const workflow = await inspector.inspect(orderNumber);
    const sending = workflow?.pending.filter(({ activityType }) => activityType === SENDS) ?? [];
    const isRunning = sending.some(({ state }) => state === 'running' || state === 'due');
    if (!isRunning || waitedMs >= ASKED_WITHIN_MS) return sending;
    await sleep(ASK_AGAIN_AFTER_MS);
  }
}
