import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { Settlement } from '../../domain/index.ts';
import type { Reversal } from '../reversals/reversal-queries.ts';
import type { SessionRow } from '../sessions/session-queries.ts';

/** A capture as operators see it: the order's payment, or one that the order could not take. */
export interface CapturedPayment extends PaymentRef {
  utr: string | null;
  amountPaise: number;
  capturedAt: Date;
  /** False if it was in another currency, or refunded before the order could take it. */
  isWhole: boolean;
  currency: string;
  /** The amount refunded at the gateway, if the capture is not whole. */
  refundedPaise: number;
  /** True if this capture made the order PAID. */
  isOrders: boolean;
  heldAt: Date | null;
  holdRefusedAt: Date | null;
  /** Why it is refunded as surplus. Null if it is not. */
  surplusReason: string | null;
  refundedAt: Date | null;
  /** True if the order's refund failed after it was made, and is repeated. */
  isRefundedAgain: boolean;
}

/** The most rows of each kind that the page of an order shows. */
export const MOST_LISTED = 100;

/**
 * Lists captures of an order, oldest first: the order's payment, those that wait for their refund, and the latest
 * others.
 */
export async function listCapturedPayments(
  sql: Sql,
  orderNumber: string,
): Promise<CapturedPayment[]> {
  const payments = await sql<CapturedPayment[]>`
    SELECT p.gateway, p.gateway_payment_id, p.utr, p.amount_paise, p.captured_at, p.is_whole, p.currency,
      p.refunded_paise, p.held_at, p.hold_refused_at,
      o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id AS is_orders,
      s.reason AS surplus_reason, s.processed_at AS refunded_at,
      o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id
        AND has_failed_refund(o.status, o.refund_processed_at) AS is_refunded_again
    FROM payments p JOIN shared.orders o USING (order_number)
    LEFT JOIN surplus_refunds s
      ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
    WHERE p.order_number = ${orderNumber}
    ORDER BY o.gateway_payment_id IS NOT DISTINCT FROM p.gateway_payment_id DESC,
      (s.gateway_payment_id IS NOT NULL AND s.processed_at IS NULL) DESC,
      p.captured_at DESC, p.gateway_payment_id DESC LIMIT ${MOST_LISTED}`;
  return payments
    .toReversed()
    .toSorted((one, two) => one.capturedAt.getTime() - two.capturedAt.getTime());
}

export type PaymentSession = Pick<
  SessionRow,
  'sessionId' | 'gatewaySessionId' | 'state' | 'createdAt' | 'expiresAt'
>;

export async function listPaymentSessions(
  sql: Sql,
  orderNumber: string,
): Promise<PaymentSession[]> {
  return sql<PaymentSession[]>`
    SELECT session_id, gateway_session_id, state, created_at, expires_at
    FROM payment_sessions WHERE order_number = ${orderNumber} ORDER BY session_id`;
}

export interface RecordedReversal extends Omit<Reversal, 'gatewayPaymentId'> {
  recordedAt: Date;
  endedAt: Date | null;
}

/** Lists the latest reversals of an order, oldest first. */
export async function listReversals(sql: Sql, orderNumber: string): Promise<RecordedReversal[]> {
  const reversals = await sql<RecordedReversal[]>`
    SELECT reversal_id, kind, amount_paise, state, recorded_at, ended_at
    FROM gateway_reversals WHERE order_number = ${orderNumber}
    ORDER BY recorded_at DESC, reversal_id DESC LIMIT ${MOST_LISTED}`;
  return reversals.toReversed();
}

export interface RecordedSettlement {
  outcome: Settlement;
  reference: string | null;
  reason: string;
  actor: string;
  at: Date;
  /** When the refunds and transfers at the gateway were read. Null if they could not be. */
  checkedAt: Date | null;
}

/** @returns null if no operator has settled the order */
export async function findOutsideSettlement(
  sql: Sql,
  orderNumber: string,
): Promise<RecordedSettlement | null> {
  const [row] = await sql<RecordedSettlement[]>`
    SELECT outcome, reference, reason, actor, at, checked_at FROM outside_settlements
    WHERE order_number = ${orderNumber}`;
  return row ?? null;
}
