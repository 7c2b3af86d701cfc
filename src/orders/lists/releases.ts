import type { Sql } from '../../db/client.ts';
import type { OrderOwner } from './search-orders.ts';

/** Orders whose money is held, and whose release is due on the same day. */
export interface DueRelease {
  /** Without a delivery, no day is known. */
  isDelivered: boolean;
  /** In Indian time: 2026-11-22; null while a dispute is open. */
  day: string | null;
  orderCount: number;
  amountPaise: number;
}

/**
 * When the held money of a merchant's delivered orders will be released, by the end of their windows; those whose
 * window is over wait for something else and are due today. The orders in dispute come last of them, and then those that
 * are paid and not delivered.
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
        AND status IN ('PAID', 'DELIVERED', 'DISPUTE_OPEN', 'DISPUTE_UNDER_REVIEW')
    ) held
    GROUP BY is_delivered, day ORDER BY is_delivered DESC, day`;
}
