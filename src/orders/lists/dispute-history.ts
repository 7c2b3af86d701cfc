import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import type { DisputeRecord } from '../steps/disputes.ts';
import { readDisputesOf } from '../steps/disputes.ts';
import type { OrderRow } from '../rows.ts';

export interface DisputedOrder {
  orderNumber: string;
  status: OrderStatus;
  amountPaise: number;
  createdAt: Date;
  /** True if the e-mail address is that of the order's buyer. */
  sameEmail: boolean;
  /** True if the phone number is that of the order's buyer. */
  samePhone: boolean;
  disputes: DisputeRecord[];
}

/**
 * Finds other disputed orders between this order's buyer and its merchant, in the same environment, the latest
 * first. Orders have the same buyer if the e-mail address or the phone number is equal.
 *
 * @returns at most `limit`, and whether there are more
 */
export async function findDisputeHistory(
  sql: Sql,
  { orderNumber, merchantId, environment, buyerEmail, buyerPhone, erasedAt }: OrderRow,
  limit: number,
): Promise<{ orders: DisputedOrder[]; hasMore: boolean }> {
  // The buyer is not known any more, and all erased orders have the same empty address.
  if (erasedAt !== null) return { orders: [], hasMore: false };
  const most = limit + 2;
  const disputed = sql`dispute_count > 0 AND merchant_id = ${merchantId} AND environment = ${environment}`;
  // Each part reads the newest of its own index. This order may be in both.
  const rows = await sql<Omit<DisputedOrder, 'disputes'>[]>`
    SELECT order_number, status, amount_paise, created_at,
      lower(buyer_email) = lower(${buyerEmail}) AS same_email, buyer_phone = ${buyerPhone} AS same_phone
    FROM orders WHERE order_number IN (
      (SELECT order_number FROM orders WHERE ${disputed} AND lower(buyer_email) = lower(${buyerEmail})
        ORDER BY created_at DESC LIMIT ${most})
      UNION
      (SELECT order_number FROM orders WHERE ${disputed} AND buyer_phone = ${buyerPhone}
        ORDER BY created_at DESC LIMIT ${most}))
      AND order_number <> ${orderNumber}
    ORDER BY created_at DESC, order_number DESC LIMIT ${limit + 1}`;
  const shown = rows.slice(0, limit);
  const disputes = await readDisputesOf(
    sql,
    shown.map((row) => row.orderNumber),
  );
  const orders = shown.map((row) => ({ ...row, disputes: disputes.get(row.orderNumber) ?? [] }));
  return { orders, hasMore: rows.length > limit };
}
