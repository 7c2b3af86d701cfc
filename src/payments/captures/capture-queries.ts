import type { Sql } from '../../db/client.ts';
import { jsonRow } from '../../db/client.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import type { GatewayPayment } from '../gateway/gateway.ts';
import type { OrderGateway } from '../gateway/gateways.ts';
import { idsNamedIn } from '../gateway/redaction.ts';
import type { Shard } from '../reconcile/shard.ts';
import { inShard } from '../reconcile/shard.ts';

/** For a younger capture, another process may still be notifying the order. */
export const UNAPPLIED_AFTER_MS = 30_000;

/** The database's clock, to the microsecond. */
export async function readClock(sql: Sql): Promise<string> {
  const [row] = await sql<[{ now: string }]>`SELECT service_now()::text AS now`;
  return row.now;
}

export type CapturedPaymentFacts = Pick<
  GatewayPayment,
  'gatewayPaymentId' | 'status' | 'currency' | 'amountPaise' | 'refundedPaise' | 'utr' | 'fee'
>;

/**
 * `fits`: the capture can make, or has made, its order PAID. `unfit`: it cannot. `unconfirmed`: only a callback has
 * reported it, so the gateway must be asked.
 */
export type CaptureOutcome = 'fits' | 'unfit' | 'unconfirmed';

/**
 * Records a capture and, once the gateway's API has confirmed it, ends its session: as paid, or, if the order cannot
 * become PAID by it, so that the buyer can open another session. A repeat adds the UTR, the fee and the session if
 * they were not known. It updates the amount that the gateway has refunded only while no order has taken the capture
 * and no surplus refund of it has begun.
 *
 * An answer confirms a capture if the gateway was asked after the first report was recorded.
 *
 * @param capture.askedAt when the gateway's API was asked, from {@link readClock}; null for a callback
 * @param capture.wasTaken the order took the capture before the database lost it; later reports are then replaced
 */
export async function writeCapture(
  sql: Sql,
  capture: OrderGateway & {
    orderNumber: string;
    sessionId: string | null;
    payment: CapturedPaymentFacts;
    askedAt: string | null;
    wasTaken?: boolean;
  },
): Promise<CaptureOutcome> {
  const { orderNumber, sessionId, gateway, environment, payment, askedAt } = capture;
  const { gatewayPaymentId, status, currency, amountPaise, refundedPaise, utr, fee } = payment;
  const facts = { gatewayPaymentId, status, currency, amountPaise, refundedPaise, utr, ...fee };
  // The gateway reports a capture two or three times at once. A repeat with nothing new does not wait for the
  // order's row.
  const [row] = await sql<[{ outcome: CaptureOutcome }]>`
    SELECT CASE WHEN EXISTS (
        SELECT FROM payments p JOIN orders o USING (order_number)
        WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}
          AND p.order_number = ${orderNumber} AND p.gateway_status = ${status}
          AND p.refunded_paise = ${refundedPaise} AND p.is_whole AND p.confirmed_at IS NOT NULL
          AND p.amount_paise = o.amount_paise
          AND (p.utr IS NOT NULL OR ${utr}::text IS NULL)
          AND (p.fee_paise IS NOT NULL OR ${askedAt}::text IS NULL OR ${fee?.feePaise ?? null}::bigint IS NULL)
          AND NOT EXISTS (SELECT FROM surplus_refunds s
            WHERE s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id))
      THEN 'fits'
      ELSE write_capture(${orderNumber}, ${sessionId}, ${gateway}, ${environment},
        ${jsonRow(sql, facts)}, ${askedAt}::text::timestamptz, ${capture.wasTaken ?? false})
      END AS outcome`;
  return row.outcome;
}

/**
 * Stores a callback before it is processed, with the ids by which the erasure of the buyer's data finds it. A
 * callback about an erased order is stored without its body.
 */
export async function writeCallback(
  sql: Sql,
  callback: OrderGateway & { eventId: string; event: string; body: string },
): Promise<void> {
  const { gateway, environment, eventId, event, body } = callback;
  const ids = idsNamedIn(body);
  await sql`
    INSERT INTO gateway_callbacks (gateway, environment, event_id, event, body, named_ids)
    SELECT ${gateway}, ${environment}, ${eventId}, ${event},
      CASE WHEN EXISTS (
        SELECT FROM orders WHERE erased_at IS NOT NULL AND order_number IN (
          SELECT unnest(${ids}::text[])
          UNION SELECT order_number FROM payments
            WHERE gateway = ${gateway} AND gateway_payment_id = ANY (${ids})
          UNION SELECT order_number FROM payment_sessions
            WHERE gateway = ${gateway} AND gateway_session_id = ANY (${ids}))
      ) THEN '' ELSE ${body} END, ${ids}`;
}

/** A recorded capture that its order has not applied and that is not refunded. */
export interface UnappliedCapture extends PaymentRef, OrderGateway {
  orderNumber: string;
  /** True if the gateway's API was asked for it after its first report was recorded. */
  isConfirmed: boolean;
  amountPaise: number;
  orderAmountPaise: number;
  /** True if the whole amount is captured in INR: see `payments.is_whole`. */
  isWhole: boolean;
  currency: string;
  refundedPaise: number;
  gatewayStatus: string;
  /** True if its surplus refund has begun. */
  isSurplus: boolean;
  /** True if operators were told that it is not whole. */
  isAlerted: boolean;
}

/**
 * SQL: captures that no order has taken and that are not refunded. A capture that is not whole and has an alert is
 * included until all of it is refunded; then the order can be paid again.
 */
const unappliedCaptures = (sql: Sql) => sql`
    SELECT p.gateway, p.environment, p.gateway_payment_id, p.order_number, p.amount_paise, p.is_whole,
      p.confirmed_at IS NOT NULL AS is_confirmed, p.currency, p.refunded_paise, p.gateway_status,
      o.amount_paise AS order_amount_paise, s.gateway_payment_id IS NOT NULL AS is_surplus,
      a.alert_id IS NOT NULL AS is_alerted
    FROM payments p JOIN orders o USING (order_number)
    LEFT JOIN surplus_refunds s
      ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
    LEFT JOIN LATERAL (SELECT alert_id FROM alerts
      WHERE NOT p.is_whole AND kind = 'unfit_capture'
        AND subject = gateway_subject(p.gateway, p.gateway_payment_id) LIMIT 1) a ON true
    WHERE o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id AND s.processed_at IS NULL
      AND (p.is_whole OR s.gateway_payment_id IS NOT NULL OR a.alert_id IS NULL
        OR NOT is_wholly_refunded(p))`;

/** Reconciliation runs every minute and finds them much earlier. `ledger verify` checks all. */
const UNAPPLIED_FOR_DAYS = 7;

/**
 * Finds captures that no order has taken because a Signal was lost, and that are not refunded. Newest first, so that
 * refunds that the gateway refuses do not delay the others.
 */
export async function findUnappliedCaptures(
  sql: Sql,
  { olderThanMs, limit, shard }: { olderThanMs: number; limit: number; shard: Shard },
): Promise<UnappliedCapture[]> {
  return sql<UnappliedCapture[]>`
    ${unappliedCaptures(sql)} AND ${inShard(sql, sql`o.order_number`, shard)}
      AND p.captured_at < (SELECT service_now()) - ${olderThanMs} * interval '1 millisecond'
      AND p.captured_at > (SELECT service_now()) - ${UNAPPLIED_FOR_DAYS} * interval '1 day'
    ORDER BY p.captured_at DESC LIMIT ${limit}`;
}

/**
 * Claims a recorded capture for the process that will notify the order. A capture is reported by two callbacks and a
 * helper's response at the same time; the others leave it to the first until reconciliation would take it.
 *
 * @returns undefined if its order has taken it, it is refunded, or another process has recently claimed it
 */
export async function takeUnappliedCapture(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<UnappliedCapture | undefined> {
  const [row] = await sql<UnappliedCapture[]>`
    WITH taken AS (
      UPDATE payments p SET notified_at = service_now()
      WHERE p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}
        AND coalesce(p.notified_at < service_now() - ${UNAPPLIED_AFTER_MS} * interval '1 millisecond', true)
        AND EXISTS (SELECT FROM orders o WHERE o.order_number = p.order_number
          AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id)
        -- The helper notifies the order itself, because its request waits for the result.
        AND (p.captured_at < service_now() - ${UNAPPLIED_AFTER_MS} * interval '1 millisecond'
          OR NOT EXISTS (SELECT FROM payment_sessions s
            WHERE s.session_id = p.session_id AND s.pay_command_id IS NOT NULL))
      RETURNING p.gateway_payment_id
    )
    ${unappliedCaptures(sql)} AND p.gateway = ${gateway}
      AND p.gateway_payment_id = (SELECT gateway_payment_id FROM taken)`;
  return row;
}

/** Reads a recorded capture. @returns undefined if its order has taken it, or it is refunded */
export async function findUnappliedCapture(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<UnappliedCapture | undefined> {
  const [row] = await sql<UnappliedCapture[]>`
    ${unappliedCaptures(sql)} AND p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}`;
  return row;
}

/** If the gateway does not confirm a reported capture within this time, an alert is raised. */
const UNCONFIRMED_FOR_MS = 10 * 60_000;

/** Finds captures that callbacks reported and that the gateway's API has not confirmed for ten minutes. */
export async function findUnconfirmedCaptures(
  sql: Sql,
  limit: number,
): Promise<(PaymentRef & { orderNumber: string })[]> {
  return sql<(PaymentRef & { orderNumber: string })[]>`
    SELECT p.gateway, p.gateway_payment_id, p.order_number FROM payments p
    WHERE p.confirmed_at IS NULL
      AND p.captured_at < (SELECT service_now()) - ${UNCONFIRMED_FOR_MS} * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM alerts a
        WHERE a.kind = 'payment_unconfirmed' AND a.cleared_at IS NULL
          AND a.subject = gateway_subject(p.gateway, p.gateway_payment_id))
    ORDER BY p.captured_at LIMIT ${limit}`;
}
