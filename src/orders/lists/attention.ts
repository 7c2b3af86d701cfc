import type { Sql } from '../../db/client.ts';
import type { OrderRow } from '../rows.ts';
import type { OrderOwner } from './search-orders.ts';

export type AttentionOrder = Pick<
  OrderRow,
  'orderNumber' | 'merchantOrderId' | 'amountPaise' | 'description' | 'paidAt' | 'disputeRespondBy'
>;

export interface AttentionList {
  orders: AttentionOrder[];
  /** The number of such orders, counted up to {@link MOST_COUNTED}. */
  count: number;
}

export interface OrderAttention {
  /** Disputes that wait for the merchant's answer, the nearest deadline first. */
  disputes: AttentionList;
  /** Orders that were paid more than a day ago and are not delivered, the oldest first. */
  undelivered: AttentionList;
}

/** A larger number is shown as "more than 100", because counting all would read all. */
export const MOST_COUNTED = 100;
const SHOWN = 5;

export async function readOrderAttention(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
): Promise<OrderAttention> {
  const found = sql`o.order_number, merchant_order_id, amount_paise, description, paid_at`;
  const own = (table: 'o' | 'd') => sql`${sql(table)}.merchant_id = ${merchantId}
    AND ${sql(table)}.environment = ${environment} AND pending_operation IS NULL`;
  // A refund at the gateway means that the merchant has acted.
  const rows = await sql<(AttentionOrder & { kind: keyof OrderAttention })[]>`
    (SELECT 'disputes' AS kind, ${found}, d.respond_by AS dispute_respond_by
      FROM disputes d JOIN orders o USING (order_number)
      WHERE ${own('d')} AND ended_at IS NULL AND evidence_at IS NULL
      ORDER BY d.respond_by, d.order_number LIMIT ${MOST_COUNTED + 1})
    UNION ALL
    (SELECT 'undelivered', ${found}, NULL FROM orders o WHERE ${own('o')} AND status = 'PAID'
      AND paid_at < (SELECT service_now()) - interval '24 hours'
      ORDER BY created_at, order_number LIMIT ${MOST_COUNTED + 1})`;
  const listOf = (kind: keyof OrderAttention) => {
    const ofKind = rows.filter((row) => row.kind === kind);
    const orders = ofKind.slice(0, SHOWN).map(({ kind: _kind, ...order }) => order);
    return { orders, count: ofKind.length };
  };
  return { disputes: listOf('disputes'), undelivered: listOf('undelivered') };
}
