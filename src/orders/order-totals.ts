import type { Sql } from '../db/client.ts';
import type { Environment, OrderStatus, PendingOperation } from '../domain/index.ts';

/** The orders of the whole service, for metrics. */
export interface OrderTotals {
  /** How many there are; a status without orders is left out. */
  counts: { environment: Environment; status: OrderStatus; count: number }[];
  /** The age of the oldest order in each status that is not final; left out without one. */
  oldest: { status: OrderStatus; ageSeconds: number }[];
  /** How long the longest pending operation of each kind is under way; left out without one. */
  operations: { operation: PendingOperation['kind']; ageSeconds: number }[];
  /**
   * For how long the earliest deadline has passed without anything having begun; left out without one.
   * ACCEPTED has that of its oldest order, and the two statuses of a dispute have one between them.
   */
  overdue: { status: OrderStatus; overdueSeconds: number }[];
}

/**
 * Counts orders by the blocks that lists use, and one by one only those that are in no block yet:
 * docs/adr/0006-listing-a-million-orders.md.
 */
export async function readOrderTotals(sql: Sql): Promise<OrderTotals> {
  const [counts, oldest, operations, overdue] = await Promise.all([
    countOrders(sql),
    findOldest(sql),
    findOldestOperations(sql),
    findOverdue(sql),
  ]);
  return { counts, oldest, operations, overdue };
}

async function countOrders(sql: Sql): Promise<OrderTotals['counts']> {
  return sql<OrderTotals['counts']>`
    WITH blocks AS (
      SELECT environment, statuses.status, sum(statuses.orders) AS orders
      FROM order_blocks, unnest(enum_range(NULL::order_status), by_status) AS statuses (status, orders)
      GROUP BY environment, statuses.status
    ),
    newest AS (
      SELECT e.environment, s.status, sum((
        SELECT count(*) FROM orders o
        WHERE o.merchant_id = m.merchant_id AND o.environment = e.environment AND o.status = s.status
          AND o.created_at >= coalesce(b.ends_at, '-infinity'))) AS orders
      FROM merchants m
      CROSS JOIN unnest(enum_range(NULL::environment)) AS e (environment)
      LEFT JOIN (
        SELECT merchant_id, environment, max(ends_at) AS ends_at FROM order_blocks
        GROUP BY merchant_id, environment
      ) AS b ON b.merchant_id = m.merchant_id AND b.environment = e.environment
      CROSS JOIN unnest(enum_range(NULL::order_status)) AS s (status)
      GROUP BY e.environment, s.status
    )
    SELECT environment, status, sum(orders)::float8 AS count
    FROM (SELECT * FROM blocks UNION ALL SELECT * FROM newest) AS parts
    GROUP BY environment, status HAVING sum(orders) > 0`;
}

/** Order numbers are in the order of creation, so the index of open orders has all that is needed. */
async function findOldest(sql: Sql): Promise<OrderTotals['oldest']> {
  return sql<OrderTotals['oldest']>`
    SELECT first.status, extract(epoch FROM service_now() - o.created_at)::float8 AS age_seconds
    FROM (
      SELECT status, min(order_number) AS order_number FROM orders
      WHERE status NOT IN ('COMPLETED', 'REFUNDED', 'CANCELLED') GROUP BY status
    ) AS first JOIN orders o USING (order_number)`;
}

async function findOldestOperations(sql: Sql): Promise<OrderTotals['operations']> {
  return sql<OrderTotals['operations']>`
    SELECT pending_operation->>'kind' AS operation,
      extract(epoch FROM service_now() - min(updated_at))::float8 AS age_seconds
    FROM orders WHERE pending_operation IS NOT NULL GROUP BY 1`;
}

/** Each part reads the first row of an index. */
async function findOverdue(sql: Sql): Promise<OrderTotals['overdue']> {
  return sql<OrderTotals['overdue']>`
    WITH first AS (
      (SELECT status, payment_link_expires_at AS deadline FROM orders
        WHERE status = 'ACCEPTED' AND pending_operation IS NULL
        ORDER BY order_number LIMIT 1)
      UNION ALL
      (SELECT status, completes_at FROM orders
        WHERE completes_at IS NOT NULL AND pending_operation IS NULL
        ORDER BY completes_at, order_number LIMIT 1)
      UNION ALL
      (SELECT status, dispute_respond_by FROM orders
        WHERE status IN ('DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW') AND pending_operation IS NULL
        ORDER BY dispute_respond_by, order_number LIMIT 1)
    )
    SELECT status, extract(epoch FROM service_now() - deadline)::float8 AS overdue_seconds
    FROM first WHERE deadline < service_now()`;
}
