import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { statusesThatTake } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

/** Finds an order of any merchant in the given environment. */
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

/** Finds orders whose workflow never began: the API process died, or Temporal was unavailable. */
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

/** Finds recorded disputes that the workflow has not received: the process died before it sent them. */
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

/** @returns true when the workflow may lack a step of its order */
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

/** Finds orders whose workflow may lack the latest steps: a failed workflow task lost an Update. */
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

/** Marks steps as acknowledged after Temporal has stored the signal to read them. */
export async function markAcknowledged(
  sql: Sql,
  { orderNumber, stepNumber }: { orderNumber: string; stepNumber: number },
): Promise<void> {
  await sql`
    UPDATE order_steps SET unacknowledged = false
    WHERE order_number = ${orderNumber} AND step_number <= ${stepNumber} AND unacknowledged`;
}

/** Finds orders whose workflow may not know of a delivery: its direct attempt was cut off. */
export async function findOrdersWithUnsentWebhooks(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<{ orderNumber: string }[]> {
  return sql<{ orderNumber: string }[]>`
    SELECT DISTINCT e.order_number
    FROM webhook_deliveries d JOIN order_events e USING (event_id)
    WHERE d.state = 'PENDING' AND d.is_direct
      AND d.next_attempt_at < service_now() - ${olderThanMs} * interval '1 millisecond'
      AND (d.attempt_until IS NULL OR d.attempt_until < service_now())
    LIMIT ${limit}`;
}

/** Counts the cancels that failed because the payment session could not be closed. */
export async function countFailedCancels(sql: Sql, orderNumber: string): Promise<number> {
  const [row] = await sql<{ failed: number }[]>`
    SELECT count(*) AS failed FROM order_steps
    WHERE order_number = ${orderNumber} AND kind = 'PAYMENT_STILL_OPEN'`;
  return row?.failed ?? 0;
}
