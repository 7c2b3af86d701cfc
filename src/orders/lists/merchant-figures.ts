import type { Sql } from '../../db/client.ts';
import type { OrderStatus } from '../../domain/index.ts';
import { HOLDING_STATUSES, PAID_STATUSES } from '../../domain/index.ts';
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

/** Orders by their status now that were created on a day, or from it to the next day that was asked for. */
export interface DayOfOrders {
  /** In Indian time, such as 2026-11-22. */
  day: string;
  byStatus: Record<OrderStatus, number>;
}

/**
 * Counts a merchant's orders between midnights, from the sealed blocks. For each midnight it counts at most one
 * block of orders one by one.
 *
 * @param days in Indian time, ascending; each is the end of one period and the beginning of the next
 * @returns one period fewer than `days`, also those without orders
 */
export async function countOrdersByDay(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  days: readonly string[],
): Promise<DayOfOrders[]> {
  return sql<DayOfOrders[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS day, json_object_agg(status, orders) AS by_status FROM (
      SELECT day, status, lead(orders) OVER (PARTITION BY status ORDER BY day) - orders AS orders
      FROM unnest(${[...days]}::date[]) AS day,
        count_orders_before(${merchantId}, ${environment},
          day::timestamp AT TIME ZONE 'Asia/Kolkata')
    ) AS counted
    WHERE orders IS NOT NULL GROUP BY day ORDER BY day`;
}

/** How many of a merchant's orders were paid, refunded and disputed in a period. */
export interface OrderVolume {
  /** Orders created in the period that were paid. */
  paidOrders: number;
  /** The paid orders that are now REFUNDED. */
  refundedOrders: number;
  /** Disputes raised in the period. An order may have several. */
  disputes: number;
}

/** Before the first order of any merchant. */
const BEGINNING = '2000-01-01';

/**
 * Counts a merchant's paid orders and its disputes, from the blocks of orders and an index.
 *
 * @param from the first day of the recent period, in Indian time, such as 2026-11-22
 * @param end the day after its last
 */
export async function readOrderVolume(
  sql: Sql,
  owner: OrderOwner,
  { from, end }: { from: string; end: string },
): Promise<{ recent: OrderVolume; all: OrderVolume }> {
  const [[before, during], [disputes]] = await Promise.all([
    countOrdersByDay(sql, owner, [BEGINNING, from, end]),
    sql<[{ recent: number; all: number }]>`
      SELECT count(*)::integer AS all,
        count(*) FILTER (WHERE raised_at >= ${from}::date::timestamp AT TIME ZONE 'Asia/Kolkata')::integer AS recent
      FROM disputes
      WHERE merchant_id = ${owner.merchantId} AND environment = ${owner.environment}`,
  ]);
  if (!before || !during) throw new Error('Each time that was asked for has counts');
  const paidIn = ({ byStatus }: typeof before) =>
    PAID_STATUSES.reduce((sum, status) => sum + byStatus[status], 0);
  const recent = {
    paidOrders: paidIn(during),
    refundedOrders: during.byStatus.REFUNDED,
    disputes: disputes.recent,
  };
  const all = {
    paidOrders: paidIn(before) + recent.paidOrders,
    refundedOrders: before.byStatus.REFUNDED + recent.refundedOrders,
    disputes: disputes.all,
  };
  return { recent, all };
}
