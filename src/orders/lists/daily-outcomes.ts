import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import type { OrderOwner } from './search-orders.ts';

/** The orders that were created on one day, or from it to the next one that was asked for, by their status now. */
export interface DayOfOrders {
  /** In Indian time: 2026-11-22. */
  day: string;
  byStatus: Record<OrderStatus, number>;
}

/**
 * Counts a merchant's orders between midnights. A day has the orders before its end that are not before its
 * beginning: for each midnight, at most a block of orders is counted one by one.
 *
 * @param days in Indian time, ascending: each begins what is counted, and ends what is counted before it
 * @returns one fewer than `days`, also those without orders
 */
export async function countOrdersByDay(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  days: readonly string[],
): Promise<DayOfOrders[]> {
  return sql<DayOfOrders[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS day, json_object_agg(status, orders) AS by_status FROM (
      SELECT day, status, lead(orders) OVER (PARTITION BY status ORDER BY day) - orders AS orders
      FROM unnest(${[...days]}::date[]) AS day,
        count_orders_before(${merchantId}, ${environment},
          day::timestamp AT TIME ZONE 'Asia/Kolkata')
    ) AS counted
    WHERE orders IS NOT NULL GROUP BY day ORDER BY day`;
}
