import type { Sql } from '../db/client.ts';
import { jsonRow } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';

/** Money that left, or may leave, at the gateway without this service: see the table. */
export interface Reversal {
  reversalId: string;
  gatewayPaymentId: string;
  kind: 'refund' | 'chargeback';
  amountPaise: number;
  state: 'pending' | 'processed' | 'failed' | 'open' | 'won' | 'lost';
}

export type ReversalNote =
  /** It is new, or has gone on. */
  | { outcome: 'noted'; order_number: string }
  | { outcome: 'known'; order_number: string }
  /** No payment of ours, as far as we have heard. */
  | { outcome: 'unknown_payment' };

/** Writes a reversal down, with its ledger line once the money is gone, in one statement. */
export async function writeReversal(
  sql: Sql,
  environment: Environment,
  reversal: Reversal,
): Promise<ReversalNote> {
  const [row] = await sql<{ note: ReversalNote }[]>`
    SELECT write_reversal(${environment}, ${jsonRow(sql, reversal)}) AS note`;
  return row?.note ?? { outcome: 'unknown_payment' };
}

/** Those that keep an order's funds from being released, the first one first. */
export async function findBlockingReversals(sql: Sql, orderNumber: string): Promise<Reversal[]> {
  return sql<Reversal[]>`
    SELECT r.reversal_id, r.gateway_payment_id, r.kind, r.amount_paise, r.state
    FROM orders o JOIN gateway_reversals r USING (gateway_payment_id)
    WHERE o.order_number = ${orderNumber} AND r.blocks_release
    ORDER BY r.noted_at, r.reversal_id`;
}

/** Of a payment, what we know to have been refunded at the gateway: by us, and by others. */
export async function knownRefundedPaise(sql: Sql, gatewayPaymentId: string): Promise<number> {
  const [row] = await sql<{ paise: number }[]>`
    SELECT (coalesce((SELECT sum(r.amount_paise) FROM gateway_reversals r
        WHERE r.gateway_payment_id = p.gateway_payment_id AND r.kind = 'refund'
          AND r.state IN ('pending', 'processed')), 0)
      + CASE WHEN EXISTS (SELECT FROM surplus_refunds s
            WHERE s.gateway_payment_id = p.gateway_payment_id)
          OR EXISTS (SELECT FROM orders o WHERE o.gateway_payment_id = p.gateway_payment_id
            AND (o.status = 'REFUNDED' OR o.busy->>'kind' = 'refunding'))
        THEN p.amount_paise ELSE 0 END)::bigint AS paise
    FROM payments p WHERE p.gateway_payment_id = ${gatewayPaymentId}`;
  return row?.paise ?? 0;
}

/**
 * Chargebacks that are open and were not asked about lately: their end may have been missed.
 *
 * @returns at most `limit`, marked as asked about
 */
export async function takeOpenChargebacks(
  sql: Sql,
  { limit, everyMs }: { limit: number; everyMs: number },
): Promise<{ reversalId: string; orderNumber: string; environment: Environment }[]> {
  return sql<{ reversalId: string; orderNumber: string; environment: Environment }[]>`
    UPDATE gateway_reversals r SET checked_at = service_now() FROM orders o
    WHERE o.order_number = r.order_number AND r.reversal_id IN (
      SELECT reversal_id FROM gateway_reversals
      WHERE state = 'open' AND coalesce(checked_at, noted_at)
        < (SELECT service_now()) - ${everyMs} * interval '1 millisecond'
      ORDER BY checked_at NULLS FIRST LIMIT ${limit}
      FOR UPDATE SKIP LOCKED)
    RETURNING r.reversal_id, r.order_number, o.environment`;
}
