import type { Sql } from '../db/client.ts';
import { DISPUTE_STATUSES } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';
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
  owner: OrderOwner,
  list: DisputeList,
  { before, limit }: SearchPart,
): Promise<{ orders: OrderRow[]; hasMore: boolean }> {
  const rows = await sql<OrderRow[]>`
    ${list === 'running' ? runningQuery(sql, owner, { before, limit }) : endedQuery(sql, owner, { before, limit })}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}

const ownBy = (sql: Sql, { merchantId, environment }: OrderOwner) =>
  sql`merchant_id = ${merchantId} AND environment = ${environment}`;

function runningQuery(sql: Sql, owner: OrderOwner, { before, limit }: SearchPart) {
  const own = ownBy(sql, owner);
  // Literals, not parameters: the planner uses the partial index only if it sees the statuses.
  const statuses = sql.unsafe(DISPUTE_STATUSES.map((name) => `'${name}'`).join(', '));
  return sql`
    SELECT * FROM orders WHERE ${own} AND status IN (${statuses})
      ${
        before === undefined
          ? sql``
          : sql`AND (dispute_respond_by, order_number) > (SELECT dispute_respond_by, order_number
              FROM orders WHERE order_number = ${before} AND ${own})`
      }
    ORDER BY dispute_respond_by, order_number LIMIT ${limit + 1}`;
}

function endedQuery(sql: Sql, owner: OrderOwner, { before, limit }: SearchPart) {
  const own = ownBy(sql, owner);
  return sql`
    SELECT * FROM orders WHERE ${own} AND dispute_ended_at IS NOT NULL
      ${
        before === undefined
          ? sql``
          : sql`AND (dispute_ended_at, order_number) < (SELECT dispute_ended_at, order_number
              FROM orders WHERE order_number = ${before} AND ${own})`
      }
    ORDER BY dispute_ended_at DESC, order_number DESC LIMIT ${limit + 1}`;
}
