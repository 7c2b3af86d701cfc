import type { Sql } from '../../db/client.ts';
import { HOLDING_STATUSES } from '../../domain/index.ts';
import type { OrderOwner } from './search-orders.ts';

/** Orders whose money is held and will be released on the same day. */
export interface DueRelease {
  /** False if they are not delivered; then no day is known. */
  isDelivered: boolean;
  /** In Indian time, such as 2026-11-22. Null while a dispute is open. */
  day: string | null;
  orderCount: number;
  amountPaise: number;
}

/**
 * When the held money of a merchant's orders will be released: delivered orders by the end of their windows, then
 * orders in dispute, then paid orders that are not delivered. Orders whose window is over wait for something else
 * and count as due today.
 */
export async function readDueReleases(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
): Promise<DueRelease[]> {
  return sql<DueRelease[]>`
    SELECT status <> 'PAID' AS is_delivered, to_char(day, 'YYYY-MM-DD') AS day, count(*)::integer AS order_count,
      sum(greatest(amount_paise - reversed_paise, 0))::bigint AS amount_paise
    FROM (
      SELECT status, amount_paise, reversed_paise, CASE WHEN status = 'DELIVERED'
        THEN greatest(indian_day(completes_at), indian_day((SELECT service_now()))) END AS day
      FROM orders WHERE merchant_id = ${merchantId} AND environment = ${environment}
        AND status = ANY (${HOLDING_STATUSES}::order_status[])
    ) held
    GROUP BY is_delivered, day ORDER BY is_delivered DESC, day`;
}
