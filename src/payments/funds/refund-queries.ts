import type { PaymentRef } from '../../contracts/ids.ts';
import type { Sql } from '../../db/client.ts';
import type { OrderMail, SurplusReason, WrittenMail } from '../../orders/public.ts';
import { mailRows } from '../../orders/public.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import type { Shard } from '../reconcile/shard.ts';
import { inShard } from '../reconcile/shard.ts';

/** A refund by this service that is booked in the ledger. */
export interface BookedRefund {
  orderNumber: string;
  /** The gateway's id of the refund. Null if the database has lost it. */
  movementId: string | null;
}

/**
 * Finds the refund of a payment that this service has made at the gateway and booked.
 *
 * @returns undefined also if an operator recorded that the money was sent back outside the gateway
 */
export async function findBookedRefund(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<BookedRefund | undefined> {
  const [row] = await sql<BookedRefund[]>`
    SELECT t.order_number, t.movement_id
    FROM shared.ledger_transfers t JOIN shared.orders o USING (order_number)
    WHERE t.gateway = ${gateway} AND t.gateway_payment_id = ${gatewayPaymentId}
      AND t.operation = 'refund'
      AND t.refund_try = refund_try_of(t.gateway, t.gateway_payment_id)
      AND NOT (o.gateway_payment_id = t.gateway_payment_id AND is_settled(t.order_number))
      AND NOT EXISTS (SELECT FROM surplus_refunds s
        WHERE s.gateway = t.gateway AND s.gateway_payment_id = t.gateway_payment_id
          AND s.settled_paise IS NOT NULL)`;
  return row;
}

export async function findPaymentsOf(sql: Sql, orderNumber: string): Promise<PaymentRef[]> {
  return sql<PaymentRef[]>`
    SELECT gateway, gateway_payment_id FROM payments WHERE order_number = ${orderNumber}`;
}

/** Reverses the booking of a refund that failed afterwards. Does nothing if there is no such booking. */
export async function bookRefundFailed(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<void> {
  await sql`SELECT book_refund_failed(${gateway}, ${gatewayPaymentId})`;
}

/** Finds the order whose refund has failed. Its step may not be recorded yet. */
export async function findOrderToRefundAgain(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<{ orderNumber: string; reason: string } | undefined> {
  const [row] = await sql<{ orderNumber: string; reason: string }[]>`
    SELECT o.order_number, coalesce(refund_reason, pending_operation->>'reason', '') AS reason
    FROM payments p JOIN shared.orders o USING (order_number, gateway, gateway_payment_id)
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}
      AND (has_failed_refund(o.status, o.refund_processed_at) OR (pending_operation->>'kind' = 'refunding'
        AND last_movement_of(gateway, gateway_payment_id) = 'refund_failed'))`;
  return row;
}

/**
 * Takes the payments whose refund a lost workflow or a dead process may have left: each refund that is owed and not
 * made, and each that a callback has reported. One that was taken is not taken again for five minutes.
 */
export async function takeRefundsToContinue(
  sql: Sql,
  { limit, shard }: { limit: number; shard: Shard },
): Promise<(PaymentRef & { orderNumber: string })[]> {
  return sql<(PaymentRef & { orderNumber: string })[]>`
    UPDATE payments SET claimed_at = service_now() WHERE (gateway, gateway_payment_id) IN (
      SELECT gateway, gateway_payment_id FROM payments p JOIN (
        SELECT gateway, gateway_payment_id FROM surplus_refunds WHERE processed_at IS NULL
        UNION SELECT gateway, gateway_payment_id FROM shared.orders o
          WHERE has_failed_refund(o.status, o.refund_processed_at)
        UNION SELECT gateway, gateway_payment_id FROM gateway_callbacks WHERE is_unconfirmed
          AND reports_refund AND received_at < (SELECT service_now()) - left_to_its_process()
      ) unfinished USING (gateway, gateway_payment_id)
      WHERE coalesce(p.claimed_at < (SELECT service_now()) - interval '5 minutes', true)
        AND ${inShard(sql, sql`p.order_number`, shard)}
      ORDER BY p.claimed_at NULLS FIRST LIMIT ${limit} FOR UPDATE OF p SKIP LOCKED)
    RETURNING gateway, gateway_payment_id, order_number`;
}

/** Records that the payment of a REFUNDED order was refunded again. */
export async function finishRefundAgain(sql: Sql, orderNumber: string): Promise<void> {
  await sql`
    WITH done AS (
      UPDATE orders o SET refund_processed_at = service_now()
      WHERE order_number = ${orderNumber} AND has_failed_refund(o.status, o.refund_processed_at)
      RETURNING order_number
    )
    SELECT book_held(order_number, 'refund', service_now()) FROM done`;
}

export interface SurplusRow extends GatewayRef, PaymentRef {
  orderNumber: string;
  amountPaise: number;
  /** The part of it that was not reversed at the gateway itself. */
  leftPaise: number;
  reason: SurplusReason;
  processedAt: Date | null;
  /** The amount that an operator recorded as refunded outside the gateway. Null if none did. */
  settledPaise: number | null;
}

/** Claims a capture: see the SQL function `claim_surplus`. @returns undefined if it is not surplus */
export async function claimSurplus(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<SurplusRow | undefined> {
  const [row] = await sql<SurplusRow[]>`
    SELECT s.*, p.environment, s.amount_paise - reversed_of(s.gateway, s.gateway_payment_id) AS left_paise
    FROM claim_surplus(${gateway}, ${gatewayPaymentId}) s JOIN payments p USING (gateway, gateway_payment_id)`;
  return row;
}

/**
 * Records that a surplus capture is refunded: see the SQL function `finish_surplus`.
 *
 * @returns the mails to the buyer that this call wrote
 */
export async function finishSurplus(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  mails: readonly OrderMail[] = [],
): Promise<WrittenMail[]> {
  const [row] = await sql<[{ mails: WrittenMail[] | null }]>`
    SELECT finish_surplus(${gateway}, ${gatewayPaymentId}, ${sql.json(mailRows(mails))}) AS mails`;
  return row.mails ?? [];
}
