import type { Sql } from '../db/client.ts';
import type { OrderStatus } from '../domain/index.ts';
import { ORDER_STATUSES } from '../domain/index.ts';
import type { OrderOwner } from './search-orders.ts';

/** The orders that were created on one day, by their status now. */
export interface DayOfOrders {
  /** In Indian time: 2026-11-22. */
  day: string;
  byStatus: Record<OrderStatus, number>;
}

/**
 * Counts a merchant's orders of the latest days, the oldest day first. Days without orders have zeros.
 *
 * A block of orders that lies within one day has the counts already. Only the orders of blocks that
 * reach over midnight, and those in no block yet, are counted one by one: at most a block for each
 * midnight, whether the merchant has a thousand orders or a million.
 */
export async function countOrdersByDay(
  sql: Sql,
  owner: OrderOwner,
  days: number,
): Promise<DayOfOrders[]> {
  const rows = await sql<
    { day: string; counts: number[] }[]
  >`${ordersByDayQuery(sql, owner, days)}`;
  return rows.map(({ day, counts }) => ({
    day,
    byStatus: Object.fromEntries(
      ORDER_STATUSES.map((status, index) => [status, counts[index] ?? 0]),
    ) as Record<OrderStatus, number>,
  }));
}

/** The statement of {@link countOrdersByDay}; exported because the benchmark runs EXPLAIN on it. */
export function ordersByDayQuery(sql: Sql, { merchantId, environment }: OrderOwner, days: number) {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  return sql`
    WITH days AS MATERIALIZED (
      SELECT day, day::timestamp AT TIME ZONE 'Asia/Kolkata' AS begins_at,
        (day + 1)::timestamp AT TIME ZONE 'Asia/Kolkata' AS ends_at
      FROM (SELECT indian_day(service_now()) AS today OFFSET 0) AS clock,
        LATERAL (SELECT today - generate_series(0, ${days - 1}::integer) AS day) AS each
    ),
    blocks AS MATERIALIZED (
      SELECT * FROM (
        SELECT lag(ends_at, 1, '-infinity') OVER (ORDER BY ends_at) AS begins_at, ends_at, by_status
        FROM order_blocks WHERE ${own}
      ) AS block WHERE ends_at > (SELECT min(begins_at) FROM days)
    ),
    whole AS MATERIALIZED (
      SELECT days.day, blocks.* FROM blocks JOIN days
        ON days.begins_at <= blocks.begins_at AND days.ends_at >= blocks.ends_at
    ),
    -- The parts of days that are in no whole block.
    parts AS MATERIALIZED (
      SELECT day, greatest(days.begins_at, rest.begins_at) AS begins_at,
        least(days.ends_at, rest.ends_at) AS ends_at
      FROM days JOIN (
        SELECT begins_at, ends_at FROM blocks WHERE ends_at NOT IN (SELECT ends_at FROM whole)
        UNION ALL
        SELECT coalesce(max(ends_at), '-infinity'), 'infinity' FROM blocks
      ) AS rest ON days.begins_at < rest.ends_at AND days.ends_at > rest.begins_at
    ),
    counted AS (
      SELECT day, position, orders FROM whole, unnest(by_status) WITH ORDINALITY
        AS block (orders, position)
      UNION ALL
      SELECT day, position, (
        SELECT count(*) FROM orders WHERE ${own} AND status = every.status
          AND created_at >= parts.begins_at AND created_at < parts.ends_at)
      FROM parts, unnest(enum_range(NULL::order_status)) WITH ORDINALITY AS every (status, position)
    ),
    sums AS (
      SELECT day, position, sum(orders)::integer AS orders FROM counted GROUP BY day, position
    )
    SELECT to_char(day, 'YYYY-MM-DD') AS day,
      array_agg(coalesce(sums.orders, 0) ORDER BY position) AS counts
    FROM days CROSS JOIN generate_series(1, ${ORDER_STATUSES.length}::integer) AS positions (position)
    LEFT JOIN sums USING (day, position)
    GROUP BY day ORDER BY day`;
}
