import type { Sql } from '../../db/client.ts';
import { PAID_STATUSES } from '../../domain/index.ts';
import { countOrdersByDay } from './daily-outcomes.ts';
import type { OrderOwner } from './search-orders.ts';

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
