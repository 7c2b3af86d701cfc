import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';

/**
 * Writes a capture into the book, once, and ends its session: as paid, or, when the amount is not
 * the order's, so that the buyer can have another one. Locks the order before its session, as
 * everybody does.
 */
export async function writeCapture(
  sql: Sql,
  capture: {
    gatewayPaymentId: string;
    orderNumber: string;
    sessionId: string | null;
    environment: Environment;
    amountPaise: number;
    utr: string | null;
  },
): Promise<void> {
  const { gatewayPaymentId, orderNumber, sessionId, environment, amountPaise, utr } = capture;
  await sql`
    WITH fitting AS (
      SELECT order_number, amount_paise = ${amountPaise} AS fits FROM orders
      WHERE order_number = ${orderNumber} FOR NO KEY UPDATE
    ), session AS (
      UPDATE payment_sessions s
      SET state = (CASE WHEN f.fits THEN 'PAID' ELSE 'CLOSED' END)::session_state,
        ended_at = coalesce(s.ended_at, service_now())
      FROM fitting f
      WHERE s.session_id = ${sessionId} AND s.order_number = f.order_number
      RETURNING s.session_id
    ), freed AS (
      UPDATE orders o SET open_session_id = NULL FROM fitting f
      WHERE o.order_number = f.order_number AND o.open_session_id = ${sessionId} AND NOT f.fits
    )
    INSERT INTO payments
      (gateway_payment_id, environment, order_number, session_id, amount_paise, utr)
    VALUES (${gatewayPaymentId}, ${environment}, ${orderNumber},
      (SELECT session_id FROM session), ${amountPaise}, ${utr})
    ON CONFLICT DO NOTHING`;
}

/** True once the order has been told that this attempt failed. */
export async function isFailureKnown(sql: Sql, gatewayPaymentId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM failed_payments WHERE gateway_payment_id = ${gatewayPaymentId}`;
  return rows.length > 0;
}

export async function writeFailure(
  sql: Sql,
  gatewayPaymentId: string,
  orderNumber: string,
): Promise<void> {
  await sql`
    INSERT INTO failed_payments (gateway_payment_id, order_number)
    VALUES (${gatewayPaymentId}, ${orderNumber}) ON CONFLICT DO NOTHING`;
}

/** Keeps a callback as it came, before anything is done about it. */
export async function writeCallback(
  sql: Sql,
  callback: { environment: Environment; eventId: string; event: string; body: string },
): Promise<void> {
  const { environment, eventId, event, body } = callback;
  await sql`
    INSERT INTO gateway_callbacks (environment, event_id, event, body)
    VALUES (${environment}, ${eventId}, ${event}, ${body})`;
}

export interface LooseCapture {
  gateway_payment_id: string;
  order_number: string;
  amount_paise: number;
  order_amount_paise: number;
  /** It is being given back already. */
  is_surplus: boolean;
}

/** Captures in the book that no order has taken and that have not been given back. */
const looseCaptures = (sql: Sql) => sql`
    SELECT p.gateway_payment_id, p.order_number, p.amount_paise,
      o.amount_paise AS order_amount_paise, s.gateway_payment_id IS NOT NULL AS is_surplus
    FROM payments p JOIN orders o USING (order_number)
    LEFT JOIN surplus_refunds s ON s.gateway_payment_id = p.gateway_payment_id
    WHERE o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id AND s.processed_at IS NULL`;

/** What is looked for every minute is found long before; `ledger verify` looks at everything. */
const LOOSE_FOR_DAYS = 7;

/**
 * Captures that no order has taken and nobody has given back: a Signal was lost on its way. The
 * newest first, so that those which the gateway refuses for good do not stand in their way.
 */
export async function findLooseCaptures(
  sql: Sql,
  olderThanMs: number,
  limit: number,
): Promise<LooseCapture[]> {
  return sql<LooseCapture[]>`
    ${looseCaptures(sql)}
      AND p.captured_at < (SELECT service_now()) - ${olderThanMs} * interval '1 millisecond'
      AND p.captured_at > (SELECT service_now()) - ${LOOSE_FOR_DAYS} * interval '1 day'
    ORDER BY p.captured_at DESC LIMIT ${limit}`;
}

/** A capture in the book, unless its order has taken it or it has been given back. */
export async function findLooseCapture(
  sql: Sql,
  gatewayPaymentId: string,
): Promise<LooseCapture | undefined> {
  const [row] = await sql<LooseCapture[]>`
    ${looseCaptures(sql)} AND p.gateway_payment_id = ${gatewayPaymentId}`;
  return row;
}
