import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { statusesThatTake } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

/** The order of that number in that environment, whoever owns it. */
export async function findOrder(
  sql: Sql,
  environment: Environment,
  orderNumber: string,
): Promise<OrderRow | undefined> {
  const [row] = await sql<OrderRow[]>`
    SELECT * FROM orders
    WHERE order_number = ${orderNumber} AND environment = ${environment}`;
  return row;
}

/** Orders whose workflow never began: their API process died, or Temporal was away. */
export async function findUnstartedOrders(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<OrderRow[]> {
  return sql<OrderRow[]>`
    SELECT o.* FROM unstarted_orders u JOIN orders o USING (order_number)
    WHERE u.created_at < service_now() - ${olderThanMs} * interval '1 millisecond'
    ORDER BY u.created_at LIMIT ${limit}`;
}

/** Disputes that were written down, but whose order has not heard of them: a process died. */
export async function findUnprocessedDisputes(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<{ orderNumber: string; commandId: string; receivedAt: Date }[]> {
  return sql<{ orderNumber: string; commandId: string; receivedAt: Date }[]>`
    SELECT order_number, waiting_dispute_id AS command_id,
      waiting_dispute_received_at AS received_at
    FROM orders
    WHERE waiting_dispute_id IS NOT NULL AND status = ANY(${statusesThatTake('dispute')}) AND pending_operation IS NULL
      AND waiting_dispute_received_at
        < service_now() - ${olderThanMs} * interval '1 millisecond'
    LIMIT ${limit}`;
}

/** True when a step of this order may be unknown to its workflow. */
export async function hasUnacknowledgedSteps(
  sql: Sql,
  orderNumber: string,
  olderThanMs: number,
): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM order_steps WHERE order_number = ${orderNumber} AND unacknowledged
      AND recorded_at <= service_now() - ${olderThanMs} * interval '1 millisecond' LIMIT 1`;
  return rows.length > 0;
}

/** Orders that may not know of their latest steps: an Update was lost with its workflow task. */
export async function findOrdersBehind(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<{ orderNumber: string; stepNumber: number }[]> {
  return sql<{ orderNumber: string; stepNumber: number }[]>`
    SELECT order_number, max(step_number) AS step_number FROM (
      SELECT order_number, step_number FROM order_steps
      WHERE unacknowledged AND recorded_at < service_now() - ${olderThanMs} * interval '1 millisecond'
      ORDER BY recorded_at LIMIT ${limit}
    ) AS unacknowledged GROUP BY order_number`;
}

/** The order has been told to look: Temporal keeps that. */
export async function markAcknowledged(
  sql: Sql,
  { orderNumber, stepNumber }: { orderNumber: string; stepNumber: number },
): Promise<void> {
  await sql`
    UPDATE order_steps SET unacknowledged = false
    WHERE order_number = ${orderNumber} AND step_number <= ${stepNumber} AND unacknowledged`;
}

/** How often a cancel came to nothing because the payment session could not be closed. */
export async function countFailedCancels(sql: Sql, orderNumber: string): Promise<number> {
  const [row] = await sql<{ failed: number }[]>`
    SELECT count(*) AS failed FROM order_steps
    WHERE order_number = ${orderNumber} AND kind = 'PAYMENT_STILL_OPEN'`;
  return row?.failed ?? 0;
}
