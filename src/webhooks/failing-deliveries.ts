import type { Sql } from '../db/client.ts';
import type { DeliveryFilter } from './delivery-list.ts';

/**
 * Ids of the deliveries that became FAILED at or after `since`, and of PENDING ones with a failed
 * attempt since then. The earliest failure comes first. Erased events cannot be sent.
 */
export async function findFailing(
  sql: Sql,
  since: Date,
  { merchantId, environment }: Pick<DeliveryFilter, 'merchantId' | 'environment'>,
): Promise<string[]> {
  const rows = await sql<{ deliveryId: string }[]>`
    WITH failing AS (
      SELECT delivery_id, settled_at AS failed_at FROM webhook_deliveries
      WHERE state = 'FAILED' AND settled_at >= ${since}
      UNION ALL
      SELECT a.delivery_id, min(a.at) FROM webhook_attempts a JOIN webhook_deliveries d
        ON d.delivery_id = a.delivery_id AND d.state = 'PENDING'
      WHERE a.error IS NOT NULL AND a.at >= ${since}
      GROUP BY a.delivery_id
    )
    SELECT delivery_id FROM failing JOIN webhook_deliveries USING (delivery_id)
    WHERE NOT is_erased
      ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
      ${environment ? sql`AND environment = ${environment}` : sql``}
    ORDER BY failed_at, delivery_id`;
  return rows.map(({ deliveryId }) => deliveryId);
}
