import type { Sql } from '../../db/client.ts';
import { BUYER_DISPUTES, HOLDING_STATUSES } from '../../domain/index.ts';
import type { OrderRow } from '../rows.ts';

/**
 * Why a buyer can raise no more disputes: `most`, the number of disputes; `decided`, an operator decided for the
 * merchant.
 */
export type DisputeLimit = 'most' | 'decided';

/** The text for a buyer who can raise no more disputes. */
export const DISPUTE_LIMITS: Record<DisputeLimit, string> = {
  most: `Cannot raise dispute; the order has had ${BUYER_DISPUTES} disputes`,
  decided: 'Cannot raise dispute; an operator has decided for the merchant',
};

/**
 * Finds the orders with at least three disputes whose money is held, production first, then by the number of
 * disputes. Their buyer and merchant do not agree, or one of them poses as the other.
 */
export async function findDisputedOften(
  sql: Sql,
  limit: number,
): Promise<{ orders: OrderRow[]; hasMore: boolean }> {
  const rows = await sql<OrderRow[]>`
    SELECT * FROM orders_with_dispute
    WHERE is_disputed_often(dispute_count) AND status = ANY (${HOLDING_STATUSES}::order_status[])
    ORDER BY environment DESC, dispute_count DESC, order_number LIMIT ${limit + 1}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}

export type DisputeEnding =
  | 'resolved_by_merchant'
  | 'decided_for_merchant'
  | 'decided_for_buyer'
  | 'accepted_by_merchant'
  | 'not_resolved_in_time'
  /** An operator recorded a settlement outside the gateway. */
  | 'settled_by_operator';

/** A dispute of an order, with the texts of buyer, merchant and operator. */
export interface DisputeRecord {
  /** Counts from 1 on each order. */
  number: number;
  raisedAt: Date;
  /** `buyer`, or the operator who raised it for the buyer. */
  raisedBy: string;
  reason: string;
  evidenceAt: Date | null;
  evidence: string | null;
  /** Null until the dispute has ended. A refund ends it when the gateway has refunded. */
  endedAt: Date | null;
  ending: DisputeEnding | null;
  /** The merchant's text, if the merchant resolved it. */
  resolution: string | null;
  decision: { for: 'merchant' | 'buyer'; reason: string; actor: string | null } | null;
}

/** A buyer can raise five, operators any number. The timeline has the texts of all. */
const MOST_DISPUTES = 10;

export async function readDisputes(sql: Sql, orderNumber: string): Promise<DisputeRecord[]> {
  const disputes = await readDisputesOf(sql, [orderNumber]);
  return disputes.get(orderNumber) ?? [];
}

/** Reads the latest disputes of several orders, by order number. */
export async function readDisputesOf(
  sql: Sql,
  orderNumbers: readonly string[],
): Promise<Map<string, DisputeRecord[]>> {
  // An erased text is shown as an empty one. Resolutions and evidence that never existed are null.
  const rows = await sql<(DisputeRecord & { orderNumber: string })[]>`
    SELECT order_number, number, raised_at, raised_by, coalesce(reason, '') AS reason, evidence_at,
      CASE WHEN evidence_at IS NOT NULL THEN coalesce(evidence, '') END AS evidence, ended_at, ending,
      resolution, CASE WHEN decided_for IS NOT NULL THEN json_build_object('for', decided_for,
        'reason', coalesce(decision_reason, ''), 'actor', decided_by) END AS decision
    FROM disputes JOIN orders o USING (order_number)
    WHERE order_number = ANY(${[...orderNumbers]}) AND number > o.dispute_count - ${MOST_DISPUTES}::integer
    ORDER BY order_number, number`;
  const disputes = new Map<string, DisputeRecord[]>();
  for (const { orderNumber, ...dispute } of rows) {
    disputes.set(orderNumber, [...(disputes.get(orderNumber) ?? []), dispute]);
  }
  return disputes;
}
