import type { Sql } from '../../db/client.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { OrderMail, SurplusReason, WrittenMail } from '../../orders/public.ts';
import { mailRows } from '../../orders/public.ts';
import type { OrderGateway } from '../gateway/gateways.ts';

export interface SurplusRow extends OrderGateway, PaymentRef {
  orderNumber: string;
  amountPaise: number;
  /** The part of it that was not reversed at the gateway itself. */
  leftPaise: number;
  reason: SurplusReason;
  processedAt: Date | null;
  /** The amount that an operator recorded as refunded outside the gateway. Null if none did. */
  settledPaise: number | null;
}

/**
 * Claims a capture for its refund if its order cannot take it: it did not make the order PAID, and the order can no
 * longer be paid or the amount differs. A capture that is not whole is not claimed. The same statement adds the ledger line to `surplus` and locks the order. If the order was cancelled
 * before, this statement adds the refund to the order; a later cancel adds it itself.
 *
 * @returns undefined when the capture is not surplus
 */
export async function claimSurplus(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<SurplusRow | undefined> {
  const surplusReason = sql`surplus_reason(o.status, p.amount_paise = o.amount_paise)`;
  const [row] = await sql<SurplusRow[]>`
    WITH locked AS (
      SELECT p.*, o.merchant_id, o.status, ${surplusReason} AS reason
      FROM payments p JOIN shared.orders o USING (order_number)
      WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}
        AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id
        AND ${surplusReason} IS NOT NULL
      FOR NO KEY UPDATE OF o
    ), surplus AS MATERIALIZED (
      SELECT * FROM locked WHERE may_be_surplus(gateway, gateway_payment_id)
    ), claimed AS (
      INSERT INTO surplus_refunds (gateway, gateway_payment_id, order_number, amount_paise, reason)
      SELECT gateway, gateway_payment_id, order_number, amount_paise, reason FROM surplus
      ON CONFLICT (gateway, gateway_payment_id) DO UPDATE SET reason = surplus_refunds.reason
      RETURNING *
    ), booked AS (
      INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
        merchant_id, environment, debit_account, credit_account, amount_paise)
      SELECT gateway, gateway_payment_id, 'capture', order_number, merchant_id, environment,
        'gateway_clearing', 'surplus', amount_paise
      FROM surplus ON CONFLICT DO NOTHING
    ), shown AS (
      UPDATE orders o SET refund_amount_paise = c.amount_paise, refund_reason = c.reason
      FROM claimed c JOIN surplus s USING (gateway, gateway_payment_id)
      WHERE o.order_number = c.order_number AND s.status = 'CANCELLED'
        AND o.refund_amount_paise IS NULL
    )
    SELECT c.*, s.environment, c.amount_paise - reversed_of(c.gateway, c.gateway_payment_id) AS left_paise
    FROM claimed c JOIN surplus s USING (gateway, gateway_payment_id)`;
  return row;
}

/**
 * Records that a surplus capture is refunded. A CANCELLED order shows its earliest refund.
 *
 * @param mails the mails to the buyer, written by the same statement
 * @returns the mails that this call wrote
 */
export async function finishSurplus(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  mails: readonly OrderMail[] = [],
): Promise<WrittenMail[]> {
  const [row] = await sql<{ mails: WrittenMail[] }[]>`
    WITH locked AS (
      SELECT o.* FROM surplus_refunds s JOIN shared.orders o USING (order_number)
      WHERE s.gateway = ${gateway} AND s.gateway_payment_id = ${gatewayPaymentId}
      FOR NO KEY UPDATE OF o
    ), done AS (
      UPDATE surplus_refunds s SET processed_at = service_now() FROM locked o
      WHERE s.gateway = ${gateway} AND s.gateway_payment_id = ${gatewayPaymentId}
        AND s.order_number = o.order_number AND s.processed_at IS NULL
      RETURNING s.*
    ), booked AS (
      INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
        merchant_id, environment, debit_account, credit_account, amount_paise, refund_try,
        movement_id)
      SELECT d.gateway, d.gateway_payment_id, 'refund', d.order_number, o.merchant_id,
        o.environment, 'surplus', 'refunds', left_paise,
        refund_try_of(d.gateway, d.gateway_payment_id), p.gateway_refund_id
      FROM done d JOIN locked o USING (order_number)
      JOIN payments p ON p.gateway = d.gateway AND p.gateway_payment_id = d.gateway_payment_id
      CROSS JOIN LATERAL balance_of(d.gateway, d.gateway_payment_id, 'surplus') left_paise
      WHERE left_paise > 0
    ), shown AS (
      UPDATE orders o SET refund_processed_at = d.processed_at
      FROM done d JOIN locked l USING (order_number)
      WHERE o.order_number = d.order_number AND l.status = 'CANCELLED'
        AND d.gateway_payment_id = (SELECT e.gateway_payment_id FROM shown_surplus_of(d.order_number) e)
    )
    SELECT write_order_mails(order_number, ${sql.json(mailRows(mails))}) AS mails FROM done`;
  return row?.mails ?? [];
}
