import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';
import { errorOf } from '../http/errors.ts';
import { noteRequest } from '../http/request-context.ts';
import type { OrderRow } from './rows.ts';

export { findOrderAnywhere } from './find-orders.ts';
export * from './request-queries.ts';
export type { OrderRow } from './rows.ts';

/** What POST /orders writes. The times are the database's: see {@link insertOrder}. */
export type NewOrder = Pick<
  OrderRow,
  | 'order_number'
  | 'merchant_id'
  | 'environment'
  | 'idempotency_key'
  | 'request_hash'
  | 'merchant_order_id'
  | 'amount_paise'
  | 'description'
  | 'buyer_email'
  | 'buyer_phone'
  | 'buyer_name'
  | 'payment_token'
  | 'terms'
>;

/**
 * Writes the order, or finds the one that has its idempotency key: one statement, so that of any
 * number of concurrent equal requests exactly one inserts.
 *
 * @returns the order as it stands now, and whether this call made it
 */
export async function insertOrder(
  sql: Sql,
  order: NewOrder,
  paymentLinkMs: number,
): Promise<{ order: OrderRow; inserted: boolean }> {
  for (;;) {
    const [row] = await sql<(OrderRow & { inserted: boolean })[]>`
      WITH clock AS MATERIALIZED (SELECT date_trunc('milliseconds', service_now()) AS now),
      inserted AS (
        INSERT INTO orders (
          order_number, merchant_id, environment, idempotency_key, request_hash,
          merchant_order_id, amount_paise, description, buyer_email, buyer_phone, buyer_name,
          payment_token, terms, payment_link_expires_at, created_at, updated_at
        ) VALUES (
          ${order.order_number}, ${order.merchant_id}, ${order.environment},
          ${order.idempotency_key}, ${order.request_hash}, ${order.merchant_order_id},
          ${order.amount_paise}, ${order.description}, ${order.buyer_email}, ${order.buyer_phone},
          ${order.buyer_name}, ${order.payment_token}, ${sql.json({ ...order.terms })},
          (SELECT now FROM clock) + ${paymentLinkMs} * interval '1 millisecond',
          (SELECT now FROM clock), (SELECT now FROM clock)
        )
        ON CONFLICT (merchant_id, environment, idempotency_key) DO NOTHING
        RETURNING *
      )
      SELECT *, true AS inserted FROM inserted
      UNION ALL
      SELECT *, false FROM orders
      WHERE merchant_id = ${order.merchant_id} AND environment = ${order.environment}
        AND idempotency_key = ${order.idempotency_key}
      LIMIT 1`;
    // No row at all: an equal request committed after this statement's snapshot. The next try
    // sees it.
    if (row) {
      const { inserted, ...found } = row;
      return { order: found, inserted };
    }
  }
}

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

/**
 * The order that a merchant names, if it exists in this environment and is theirs.
 *
 * @throws DomainError `ORDER_NOT_FOUND`, then `ORDER_NOT_YOURS`
 */
export async function ownOrder(
  sql: Sql,
  merchantId: string,
  environment: Environment,
  orderNumber: string,
): Promise<OrderRow> {
  const order = await findOrder(sql, environment, orderNumber);
  if (!order) throw new DomainError('ORDER_NOT_FOUND', `Order not found: ${orderNumber}`);
  noteRequest({ orderNumber });
  if (order.merchant_id !== merchantId) throw errorOf('ORDER_NOT_YOURS');
  return order;
}

/** @throws Error when there is no such order: workflows name only orders that have a row */
export async function findOrderByNumber(sql: Sql, orderNumber: string): Promise<OrderRow> {
  const [row] = await sql<OrderRow[]>`SELECT * FROM orders WHERE order_number = ${orderNumber}`;
  if (!row) throw new Error(`Order ${orderNumber} has no row`);
  return row;
}

/** Orders that have a row but no recorded first step: their API process died, or Temporal was away. */
export async function findUnstartedOrders(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<OrderRow[]> {
  return sql<OrderRow[]>`
    SELECT * FROM orders
    WHERE step_number = 0
      AND created_at < service_now() - ${olderThanMs} * interval '1 millisecond'
    ORDER BY created_at LIMIT ${limit}`;
}

/** Disputes that were written down, but whose order has not heard of them: a process died. */
export async function findUnheardDisputes(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<{ orderNumber: string; requestId: string; receivedAt: Date }[]> {
  return sql<{ orderNumber: string; requestId: string; receivedAt: Date }[]>`
    SELECT order_number AS "orderNumber", waiting_dispute_id AS "requestId",
      waiting_dispute_received_at AS "receivedAt"
    FROM orders
    WHERE waiting_dispute_id IS NOT NULL AND status IN ('PAID', 'DELIVERED') AND busy IS NULL
      AND waiting_dispute_received_at
        < service_now() - ${olderThanMs} * interval '1 millisecond'
    LIMIT ${limit}`;
}

/** True when a step of this order may be unknown to its workflow. */
export async function hasUnheardSteps(
  sql: Sql,
  orderNumber: string,
  olderThanMs: number,
): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM order_steps WHERE order_number = ${orderNumber} AND unheard
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
    SELECT order_number AS "orderNumber", max(step_number) AS "stepNumber" FROM (
      SELECT order_number, step_number FROM order_steps
      WHERE unheard AND recorded_at < service_now() - ${olderThanMs} * interval '1 millisecond'
      ORDER BY recorded_at LIMIT ${limit}
    ) AS unheard GROUP BY order_number`;
}

/** The order has been told to look: Temporal keeps that. */
export async function markHeard(
  sql: Sql,
  { orderNumber, stepNumber }: { orderNumber: string; stepNumber: number },
): Promise<void> {
  await sql`
    UPDATE order_steps SET unheard = false
    WHERE order_number = ${orderNumber} AND step_number <= ${stepNumber} AND unheard`;
}

/** How often a cancel came to nothing because the payment session could not be closed. */
export async function countFailedCancels(sql: Sql, orderNumber: string): Promise<number> {
  const [row] = await sql<{ failed: number }[]>`
    SELECT count(*) AS failed FROM order_steps
    WHERE order_number = ${orderNumber} AND kind = 'PAYMENT_STILL_OPEN'`;
  return row?.failed ?? 0;
}
