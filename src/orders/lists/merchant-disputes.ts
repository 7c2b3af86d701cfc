import type { Sql } from '../../db/client.ts';
import type { OrderRow } from '../rows.ts';
import type { OrderOwner, SearchPart } from './search-orders.ts';

/** Orders whose latest dispute has not ended, or has. */
export type DisputeList = 'running' | 'ended';

/**
 * Lists a merchant's orders by their latest dispute: running ones by deadline, the nearest first; ended
 * ones the latest first. The orders' rows have both sides' words.
 *
 * @param part.before lists those that stand after this order in the list
 */
export async function listMerchantDisputes(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  list: DisputeList,
  { before, limit }: SearchPart,
): Promise<{ orders: OrderRow[]; hasMore: boolean }> {
  const isRunning = list === 'running';
  const key = isRunning ? sql`d.respond_by, d.order_number` : sql`d.ended_at, d.order_number`;
  // No number of a dispute is greater than its order's count; with `=` the planner would expect few to be
  // the latest, because most orders have no dispute, and read all orders.
  const latest = sql`
    disputes d JOIN orders_with_dispute o
      ON o.order_number = d.order_number AND d.number >= o.dispute_count
      AND d.merchant_id = ${merchantId} AND d.environment = ${environment}`;
  const after = sql`AND (${key}) ${isRunning ? sql`>` : sql`<`}
    (SELECT ${key} FROM ${latest} WHERE d.order_number = ${before ?? ''})`;
  const rows = await sql<OrderRow[]>`
    SELECT o.* FROM ${latest}
    WHERE d.ended_at ${isRunning ? sql`IS NULL` : sql`IS NOT NULL`}
      ${before === undefined ? sql`` : after}
    ORDER BY ${isRunning ? key : sql`d.ended_at DESC, d.order_number DESC`}
    LIMIT ${limit + 1}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}
