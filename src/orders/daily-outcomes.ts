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
 * A block of orders that lies within one day has the counts already. Of a block that reaches over
 * midnight, the shorter parts are counted one by one, and the longest has the rest; so are the orders
 * in no block yet. That is at most half a block for each midnight, whether the merchant has a thousand
 * orders or a million.
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
  const first = days - 1;
  return sql`
    WITH days AS MATERIALIZED (
      -- One day more stands for the time before the first one.
      SELECT today - ago AS day, ago > ${first} AS is_before,
        CASE WHEN ago > ${first} THEN '-infinity'
          ELSE (today - ago)::timestamp AT TIME ZONE 'Asia/Kolkata' END AS begins_at,
        (today - ago + 1)::timestamp AT TIME ZONE 'Asia/Kolkata' AS ends_at
      FROM (SELECT indian_day(service_now()) AS today OFFSET 0) AS clock,
        generate_series(0, ${days}::integer) AS ago
    ),
    blocks AS MATERIALIZED (
      SELECT * FROM (
        SELECT lag(ends_at, 1, '-infinity') OVER (ORDER BY ends_at) AS begins_at, ends_at, by_status
        FROM order_blocks WHERE ${own}
      ) AS block WHERE ends_at > (SELECT ends_at FROM days WHERE is_before)
    ),
    -- Each block's parts by day, and those of the orders in no block.
    parts AS MATERIALIZED (
      SELECT *, by_status IS NOT NULL AND row_number() OVER (PARTITION BY block
        ORDER BY extract(epoch FROM ends_at) - extract(epoch FROM begins_at) DESC) = 1 AS has_rest
      FROM (
        SELECT day, blocks.ends_at AS block, by_status,
          greatest(days.begins_at, blocks.begins_at) AS begins_at,
          least(days.ends_at, blocks.ends_at) AS ends_at
        FROM days JOIN blocks
          ON days.begins_at < blocks.ends_at AND days.ends_at > blocks.begins_at
        UNION ALL
        SELECT day, 'infinity', NULL, greatest(days.begins_at, newest.begins_at), ends_at
        FROM days, (SELECT coalesce(max(ends_at), '-infinity') AS begins_at FROM blocks) AS newest
        WHERE NOT is_before AND ends_at > newest.begins_at
      ) AS part
    ),
    counted AS MATERIALIZED (
      SELECT day, block, position, (
        SELECT count(*) FROM orders WHERE ${own} AND status = every.status
          AND created_at >= parts.begins_at AND created_at < parts.ends_at) AS orders
      FROM parts, unnest(enum_range(NULL::order_status)) WITH ORDINALITY AS every (status, position)
      WHERE NOT has_rest
    ),
    sums AS (
      SELECT day, position, sum(orders)::integer AS orders FROM (
        SELECT day, position, orders FROM counted
        UNION ALL
        SELECT day, position, all_of.orders - coalesce(others.orders, 0)
        FROM parts CROSS JOIN LATERAL unnest(by_status) WITH ORDINALITY AS all_of (orders, position)
        LEFT JOIN (
          SELECT block, position, sum(orders) AS orders FROM counted GROUP BY block, position
        ) AS others USING (block, position)
        WHERE has_rest
      ) AS part GROUP BY day, position
    )
    SELECT to_char(day, 'YYYY-MM-DD') AS day,
      array_agg(coalesce(sums.orders, 0) ORDER BY position) AS counts
    FROM days CROSS JOIN generate_series(1, ${ORDER_STATUSES.length}::integer) AS positions (position)
    LEFT JOIN sums USING (day, position)
    WHERE NOT is_before GROUP BY day ORDER BY day`;
}
