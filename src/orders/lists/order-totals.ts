import type { Sql } from '../../db/client.ts';
import type { Environment, OrderStatus, PendingOperation } from '../../domain/index.ts';

/** Figures of all orders of the service, for metrics. */
export interface OrderTotals {
  /** A status without orders is left out. */
  counts: { environment: Environment; status: OrderStatus; count: number }[];
  /** The age of the oldest order in each status that is not final. A status without orders is left out. */
  oldest: { status: OrderStatus; ageSeconds: number }[];
  /** The age of the oldest pending operation of each kind. A kind without one is left out. */
  operations: { operation: PendingOperation['kind']; ageSeconds: number }[];
  /**
   * How long ago the earliest deadline passed that has had no effect yet. A status without one is left out. ACCEPTED
   * has the deadline of its oldest order. The two statuses of a dispute share one entry.
   */
  overdue: { status: OrderStatus; overdueSeconds: number }[];
}

/** Reads the figures. Orders are counted by the blocks of docs/adr/0006-listing-a-million-orders.md. */
export async function readOrderTotals(sql: Sql): Promise<OrderTotals> {
  const [counts, oldest, operations, overdue] = await Promise.all([
    sql<OrderTotals['counts']>`
      SELECT environment, counted.status, sum(counted.orders)::float8 AS count
      FROM shared.merchants, unnest(enum_range(NULL::environment)) AS environment,
        count_orders_before(merchant_id, environment, 'infinity') AS counted
      GROUP BY environment, counted.status HAVING sum(counted.orders) > 0`,
    // Order numbers are in the order of creation, so the index of open orders is enough.
    sql<OrderTotals['oldest']>`
      SELECT first.status, extract(epoch FROM service_now() - o.created_at)::float8 AS age_seconds
      FROM (
        SELECT status, min(order_number) AS order_number FROM orders
        WHERE NOT is_final(status) GROUP BY status
      ) AS first JOIN orders o USING (order_number)`,
    sql<OrderTotals['operations']>`
      SELECT pending_operation->>'kind' AS operation,
        extract(epoch FROM service_now() - min(updated_at))::float8 AS age_seconds
      FROM orders WHERE pending_operation IS NOT NULL GROUP BY 1`,
    // Each part reads the first row of an index.
    sql<OrderTotals['overdue']>`
      WITH first AS (
        (SELECT status, payment_link_expires_at AS deadline FROM orders
          WHERE takes_payment(status) AND pending_operation IS NULL
          ORDER BY order_number LIMIT 1)
        UNION ALL
        (SELECT status, completes_at FROM orders
          WHERE completes_at IS NOT NULL AND pending_operation IS NULL
          ORDER BY completes_at, order_number LIMIT 1)
        UNION ALL
        (SELECT status, respond_by FROM disputes d JOIN orders USING (order_number)
          WHERE ended_at IS NULL AND pending_operation IS NULL
          ORDER BY respond_by, d.order_number LIMIT 1)
      )
      SELECT status, extract(epoch FROM service_now() - deadline)::float8 AS overdue_seconds
      FROM first WHERE deadline < service_now()`,
  ]);
  return { counts, oldest, operations, overdue };
}
