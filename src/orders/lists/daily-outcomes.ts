import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import type { OrderOwner } from './search-orders.ts';

/** The orders that were created on one day, by their status now. */
export interface DayOfOrders {
  /** In Indian time: 2026-11-22. */
  day: string;
  byStatus: Record<OrderStatus, number>;
}

/**
 * Counts a merchant's orders of the latest days, the oldest day first. Days without orders have zeros.
 * A day has the orders before its end that are not before its beginning: for each midnight, at most a
 * block of orders is counted one by one.
 */
export async function countOrdersByDay(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  days: number,
): Promise<DayOfOrders[]> {
  return sql<DayOfOrders[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS day, json_object_agg(status, orders) AS by_status FROM (
      SELECT ago, today - ago AS day, status,
        orders - lag(orders) OVER (PARTITION BY status ORDER BY ago DESC) AS orders
      FROM (SELECT indian_day(service_now()) AS today OFFSET 0) AS clock,
        generate_series(0, ${days}::integer) AS ago,
        count_orders_before(${merchantId}, ${environment},
          (today - ago + 1)::timestamp AT TIME ZONE 'Asia/Kolkata')
    ) AS counted
    WHERE ago < ${days} GROUP BY day ORDER BY day`;
}
