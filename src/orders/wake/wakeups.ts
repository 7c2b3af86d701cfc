import type { Fragment } from 'postgres';
import type { Sql } from '../../db/client.ts';
import type { Environment, OrderStatus } from '../../domain/index.ts';
import { forEachOrder } from '../../for-each-order.ts';
import type { WakeDeps } from './wake-order.ts';
import { wakeOrder } from './wake-order.ts';

const LINES_PER_LOOK = 500;
/** A sweep continues while there are more lines, for at most this time. The next sweep then follows. */
const LONGEST_MS = 120_000;
const CONCURRENT_ORDERS = 10;

/** A sweep normally takes less. A line that is due for longer is a failure of the sweep. */
const OVERDUE_AFTER_MINUTES = 2;

/** Why an order's workflow must read its row: see the view `wakeups`. */
export type WakeupCause = (typeof ALL_CAUSES)[number];
const ALL_CAUSES = ['creation', 'command', 'dispute', 'delivery', 'release'] as const;
/** The causes whose lines are removed by an accepted wake. */
const ONCE_WOKEN: readonly WakeupCause[] = ['command', 'release'];

interface DueOrder {
  orderNumber: string;
  causes: WakeupCause[];
  causeIds: string[];
}

/**
 * Wakes the orders whose lines in `wakeups` are due. An accepted wake removes the lines of commands and releases.
 * Other lines stay until the row no longer needs them, because Temporal may be restored to a time before the wake.
 * They become due again after as long as they have waited, at most an hour. So does a line whose wake has failed.
 */
export async function wakeDueOrders(deps: WakeDeps): Promise<{ woken: number }> {
  const { sql, log } = deps;
  const options = { log, concurrency: CONCURRENT_ORDERS };
  const endsAtMs = Date.now() + LONGEST_MS;
  let woken = 0;
  const wake = async (due: DueOrder) => {
    // Before the wake, so that an order whose wake fails is not always the first.
    const postponed = await postpone(sql, due);
    const outcome = await wakeOrder(deps, due.orderNumber);
    const causes = outcome === 'final' ? ALL_CAUSES : ONCE_WOKEN;
    const removed = postponed.filter(({ cause }) => causes.includes(cause));
    if (removed.length > 0) await remove(sql, due.orderNumber, removed);
    woken += 1;
  };
  for (;;) {
    const due = await findDue(sql);
    await forEachOrder(due, wake, options);
    const lines = due.reduce((sum, { causes }) => sum + causes.length, 0);
    if (lines < LINES_PER_LOOK || Date.now() > endsAtMs) break;
  }
  if (woken > 0) log.info({ woken }, 'The sweep woke orders');
  return { woken };
}

async function findDue(sql: Sql): Promise<DueOrder[]> {
  return sql<DueOrder[]>`
    SELECT order_number, array_agg(cause::text) AS causes, array_agg(cause_id) AS cause_ids FROM (
      SELECT * FROM wakeups WHERE due_at <= (SELECT service_now())
      ORDER BY due_at LIMIT ${LINES_PER_LOOK}
    ) AS lines GROUP BY order_number ORDER BY min(due_at)`;
}

/** As long again as the line has waited, at most an hour. */
const dueAfter = (sql: Sql, writtenAt: Fragment) => sql`
  service_now() + least(greatest(service_now() - ${writtenAt}, interval '5 seconds'), interval '1 hour')`;

/** A line of `order_wakeups`. */
interface Line {
  cause: WakeupCause;
  causeId: string;
  /** As text, with its microseconds. */
  dueAt: string;
}

/**
 * Skips a line that another process is removing or renewing, or has renewed.
 *
 * @returns the lines as they are due next, without those of deliveries
 */
async function postpone(sql: Sql, { orderNumber, causes, causeIds }: DueOrder): Promise<Line[]> {
  return sql<Line[]>`
    WITH seen AS (
      SELECT w.cause, w.cause_id FROM order_wakeups w
      JOIN unnest(${causes}::wakeup_cause[], ${causeIds}::text[]) AS line (cause, cause_id)
        USING (cause, cause_id)
      WHERE w.order_number = ${orderNumber} AND w.due_at <= service_now() FOR UPDATE OF w SKIP LOCKED
    ), deliveries AS (
      SELECT d.delivery_id, e.at FROM shared.webhook_deliveries d JOIN shared.order_events e USING (event_id)
      WHERE d.delivery_id = ANY (${causeIds}) AND d.state = 'PENDING'
        AND coalesce(d.wake_at, d.next_attempt_at + interval '1 hour') <= service_now()
      FOR UPDATE OF d SKIP LOCKED
    ), postponed AS (
      UPDATE webhook_deliveries d SET wake_at = ${dueAfter(sql, sql`seen.at`)}
      FROM deliveries seen WHERE d.delivery_id = seen.delivery_id
    )
    UPDATE order_wakeups w SET due_at = ${dueAfter(sql, sql`w.written_at`)}
    FROM seen WHERE w.order_number = ${orderNumber} AND w.cause = seen.cause
      AND w.cause_id = seen.cause_id
    RETURNING w.cause::text AS cause, w.cause_id, w.due_at::text AS due_at`;
}

/** Removes lines, unless they have been renewed meanwhile: what they are about may have come after the wake. */
async function remove(sql: Sql, orderNumber: string, lines: readonly Line[]): Promise<void> {
  await sql`
    DELETE FROM order_wakeups w
    USING unnest(${lines.map(({ cause }) => cause)}::wakeup_cause[], ${lines.map(({ causeId }) => causeId)}::text[],
      ${lines.map(({ dueAt }) => dueAt)}::text[]) AS line (cause, cause_id, due_at)
    WHERE w.order_number = ${orderNumber} AND w.cause = line.cause AND w.cause_id = line.cause_id
      AND w.due_at = line.due_at::timestamptz`;
}

export interface OverdueOrder {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  status: OrderStatus;
  cause: WakeupCause;
  since: Date;
}

/**
 * Finds orders that have been due for a wake for two minutes, the longest first. It reads only the database. Orders
 * whose workflow disappeared later are found by the comparison with Temporal, which raises `workflow_missing`.
 *
 * @returns at most `limit`, and whether there are more
 */
export async function findOverdueOrders(
  sql: Sql,
  limit: number,
): Promise<{ orders: OverdueOrder[]; hasMore: boolean }> {
  const rows = await sql<OverdueOrder[]>`
    SELECT order_number, o.merchant_id, o.environment, o.status, w.cause, w.written_at AS since
    FROM wakeups w JOIN orders o USING (order_number)
    WHERE w.written_at < (SELECT service_now() - ${OVERDUE_AFTER_MINUTES} * interval '1 minute')
    ORDER BY w.written_at, order_number, w.cause LIMIT ${limit + 1}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}
