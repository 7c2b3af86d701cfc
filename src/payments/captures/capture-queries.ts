import type { Sql } from '../../db/client.ts';
import { jsonRow } from '../../db/client.ts';
import type { PaymentRef } from '../../contracts/ids.ts';
import { addRequestFields } from '../../http/request-context.ts';
import type { OrderRow } from '../../orders/public.ts';
import type { GatewayPayment } from '../gateway/gateway-objects.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import { idsNamedIn } from '../gateway/redaction.ts';
import type { Shard } from '../reconcile/shard.ts';
import { inShard } from '../reconcile/shard.ts';

export type PaymentAt = GatewayRef & PaymentRef;

/** A payment as the gateway has returned it, or a callback has reported a failed one, and what is known of it besides. */
export interface ReturnedPayment {
  at: GatewayRef;
  payment: GatewayPayment;
  /** The session that it was made on, if the gateway names it. It finds the order if the payment names none. */
  gatewaySessionId?: string | null | undefined;
  /** When the gateway was asked: see `databaseTime`. Without it, now. */
  askedAt?: string;
  /** The order took the payment before the database lost it. What was refunded since does not count. */
  wasTaken?: boolean;
}

/** What the SQL function `write_capture` returns. */
export interface RecordedCapture {
  orderNumber: string;
  merchantId: string;
  fits: boolean;
  /** What the caller does next, for which it has claimed the capture. `notify` only if it fits. */
  next: 'notify' | 'refund' | 'alert' | null;
}

/** Records a capture: see the SQL function `write_capture`. @returns undefined if the service does not have its order */
export async function writeCapture(
  sql: Sql,
  { at, payment, gatewaySessionId = null, askedAt, wasTaken = false }: ReturnedPayment,
): Promise<RecordedCapture | undefined> {
  const [row] = await sql<RecordedCapture[]>`
    SELECT order_number, merchant_id, fits, next
    FROM write_capture(${at.gateway}, ${at.environment},
      ${jsonRow(sql, { ...payment, gatewaySessionId, askedAt })}, ${wasTaken})
    WHERE order_number IS NOT NULL`;
  return row;
}

export async function findPaymentAt(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
): Promise<PaymentAt | undefined> {
  const [row] = await sql<PaymentAt[]>`
    SELECT gateway, environment, gateway_payment_id FROM payments
    WHERE gateway = ${gateway} AND gateway_payment_id = ${gatewayPaymentId}`;
  return row;
}

type OwnerOfPayment = Pick<OrderRow, 'orderNumber' | 'merchantId' | 'status'>;

/** Finds the order of a payment: see the SQL function `order_of_payment`. */
export async function findOrderOfPayment(
  sql: Sql,
  { at, payment, gatewaySessionId = null }: ReturnedPayment,
): Promise<OwnerOfPayment | undefined> {
  const [row] = await sql<OwnerOfPayment[]>`
    SELECT order_number, merchant_id, status FROM shared.orders WHERE order_number = order_of_payment(
      ${at.gateway}, ${at.environment}, ${payment.orderNumber}, ${gatewaySessionId})`;
  return row;
}

/** Ends the state unconfirmed of earlier callbacks about a payment without an order, or about refunds of a payment. */
export async function confirmCallbacks(
  sql: Sql,
  { gateway, gatewayPaymentId }: PaymentRef,
  { askedAt, ofRefunds = false }: { askedAt?: string | undefined; ofRefunds?: boolean },
): Promise<void> {
  await sql`SELECT confirm_callbacks(${gateway}, ${gatewayPaymentId},
    coalesce(${askedAt ?? null}::text::timestamptz, service_now()), ${ofRefunds})`;
}

export interface NewCallback extends GatewayRef {
  eventId: string;
  event: string;
  body: string;
  /** A captured payment, a reversal of a payment, or a closed session. Null of all other events. */
  reports:
    | ({ type: 'capture'; gatewaySessionId: string | null } & Pick<
        GatewayPayment,
        'gatewayPaymentId' | 'orderNumber' | 'status' | 'refundedPaise' | 'utr'
      >)
    /** One of this service has failed. */
    | { type: 'refund'; gatewayPaymentId: string; by: 'this service' | 'others' }
    | { type: 'chargeback'; gatewayPaymentId: string }
    | { type: 'session_closed'; gatewaySessionId: string }
    | null;
}

/**
 * Stores a callback: see the SQL function `write_callback`.
 *
 * @returns when it was stored, by the database; undefined if nothing is to be done
 */
export async function writeCallback(sql: Sql, callback: NewCallback): Promise<string | undefined> {
  const { gateway, environment, eventId, event, body, reports } = callback;
  const [row] = await sql<
    [{ isNews: boolean; orderNumber: string | null; merchantId: string; storedAt: string }]
  >`
    SELECT is_news, order_number, merchant_id, stored_at FROM write_callback(${gateway}, ${environment}, ${eventId}, ${event},
      ${body}, ${idsNamedIn(body)}, ${reports && jsonRow(sql, reports)})`;
  const { isNews, orderNumber, merchantId, storedAt } = row;
  if (orderNumber !== null) addRequestFields({ orderNumber, merchantId });
  return isNews ? storedAt : undefined;
}

type ReportedPayment = PaymentAt & { orderNumber: string };

/**
 * Finds payments that a process has left unfinished: see the view `payments_to_confirm`. Newest first, so that those
 * that are asked about for a week do not delay the others. The order number is empty if it is not known.
 */
export async function findPaymentsToConfirm(
  sql: Sql,
  { limit, shard }: { limit: number; shard: Shard },
): Promise<ReportedPayment[]> {
  return sql<ReportedPayment[]>`
    SELECT gateway, environment, gateway_payment_id, coalesce(max(order_number), '') AS order_number
    FROM payments_to_confirm
    WHERE ${inShard(sql, sql`coalesce(order_number, gateway_payment_id)`, shard)}
    GROUP BY gateway, environment, gateway_payment_id
    ORDER BY max(reported_at) DESC LIMIT ${limit}`;
}

/** If the gateway does not confirm a reported payment within this time, an alert is raised. */
const UNCONFIRMED_FOR_MS = 10 * 60_000;

/** Finds payments of orders that callbacks reported and that the gateway's API has not returned for ten minutes. */
export async function findUnconfirmedPayments(sql: Sql, limit: number): Promise<ReportedPayment[]> {
  return sql<ReportedPayment[]>`
    SELECT DISTINCT gateway, environment, gateway_payment_id, order_number FROM unconfirmed_callbacks c
    WHERE order_number IS NOT NULL
      AND received_at < (SELECT service_now()) - ${UNCONFIRMED_FOR_MS} * interval '1 millisecond'
      AND NOT EXISTS (SELECT FROM payments p
        WHERE p.gateway = c.gateway AND p.gateway_payment_id = c.gateway_payment_id)
      AND NOT EXISTS (SELECT FROM shared.alerts a
        WHERE a.kind = 'payment_unconfirmed' AND a.cleared_at IS NULL
          AND a.subject = gateway_subject(c.gateway, c.gateway_payment_id))
    LIMIT ${limit}`;
}
