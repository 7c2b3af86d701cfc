import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';

export interface SampledOrder {
  orderNumber: string;
  status: OrderStatus;
}

/**
 * Selects orders of all statuses as evenly as possible: the newest of each status, and the oldest of each status
 * that is not final.
 *
 * @param count the maximum number of orders
 */
export async function sampleOrders(sql: Sql, count: number): Promise<SampledOrder[]> {
  return sql<SampledOrder[]>`
    SELECT order_number, status
    FROM unnest(enum_range(NULL::order_status)) AS every (status),
    LATERAL (
      (SELECT order_number, row_number() OVER (ORDER BY order_number DESC) AS rank
       FROM orders WHERE orders.status = every.status
       ORDER BY order_number DESC LIMIT ${count})
      UNION ALL
      (SELECT order_number, row_number() OVER (ORDER BY order_number) AS rank
       FROM orders WHERE orders.status = every.status AND NOT is_final(every.status)
       ORDER BY order_number LIMIT ${count})
    ) AS ranked
    GROUP BY order_number, status ORDER BY min(rank), order_number LIMIT ${count}`;
}
