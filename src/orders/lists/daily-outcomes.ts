import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import type { OrderOwner } from './search-orders.ts';

/** Orders by their status now that were created on a day, or from it to the next day that was asked for. */
export interface DayOfOrders {
  /** In Indian time, such as 2026-11-22. */
  day: string;
  byStatus: Record<OrderStatus, number>;
}

/**
 * Counts a merchant's orders between midnights, from the sealed blocks. For each midnight it counts at most one
 * block of orders one by one.
 *
 * @param days in Indian time, ascending; each is the end of one period and the beginning of the next
 * @returns one period fewer than `days`, also those without orders
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
