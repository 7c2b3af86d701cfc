import type postgres from 'postgres';
import type { Sql } from '../db/client.ts';
import { createOrder } from '../domain/index.ts';
import { eventOf } from './event-body.ts';
import type { PresentOrder } from './presenter.ts';
import type { OrderRow } from './rows.ts';

/** What POST /orders writes. The times are the database's: see {@link insertOrder}. */
export type NewOrder = Pick<
  OrderRow,
  | 'order_number'
  | 'merchant_id'
  | 'environment'
  | 'idempotency_key'
  | 'request_hash'
  | 'merchant_order_id'
  | 'amount_paise'
  | 'description'
  | 'buyer_email'
  | 'buyer_phone'
  | 'buyer_name'
  | 'payment_token'
  | 'terms'
>;

export interface InsertedOrder {
  /** As it stands now. */
  order: OrderRow;
  /** False when the idempotency key was known. */
  isInserted: boolean;
  /** No workflow of it has begun yet. */
  isUnstarted: boolean;
}

/** A time of the database is good for so long: lists count orders by the time of their creation. */
const MAX_DELAY_SECONDS = 10;

/**
 * Writes an order together with its first step, ORDER_CREATED, and that step's webhook; or finds the
 * order that has its idempotency key. One statement writes, so that of any number of concurrent
 * equal requests exactly one inserts.
 */
export async function insertOrder(
  sql: Sql,
  order: NewOrder,
  { paymentLinkMs, present }: { paymentLinkMs: number; present: PresentOrder },
): Promise<InsertedOrder> {
  for (;;) {
    const { now, ...found } = await findByKey(sql, order);
    if (found.order) return { ...found, order: found.order, isInserted: false };
    const row = newRow(order, now, new Date(now.getTime() + paymentLinkMs));
    if (await insert(sql, row, present)) return { order: row, isInserted: true, isUnstarted: true };
    // An equal request has inserted meanwhile: the next turn finds its order.
  }
}

/** The order that has this one's key, if there is one, and the database's time. */
async function findByKey(sql: Sql, { merchant_id, environment, idempotency_key }: NewOrder) {
  const [row] = await sql<[OrderRow & { now: Date; is_unstarted: boolean }]>`
    SELECT o.*, date_trunc('milliseconds', service_now()) AS now,
      u.order_number IS NOT NULL AS is_unstarted
    FROM (VALUES (1)) AS always
    LEFT JOIN orders o ON o.merchant_id = ${merchant_id} AND o.environment = ${environment}
      AND o.idempotency_key = ${idempotency_key}
    LEFT JOIN unstarted_orders u ON u.order_number = o.order_number`;
  const { now, is_unstarted, ...order } = row;
  const isFound = (order.order_number as string | null) !== null;
  return { now, isUnstarted: is_unstarted, order: isFound ? order : undefined };
}

/** True when no workflow of this order has begun yet. */
export async function isUnstarted(sql: Sql, orderNumber: string): Promise<boolean> {
  const rows = await sql`SELECT FROM unstarted_orders WHERE order_number = ${orderNumber}`;
  return rows.length > 0;
}

async function insert(sql: Sql, row: OrderRow, present: PresentOrder): Promise<boolean> {
  const { step } = createOrder(
    row.terms,
    row.created_at.getTime(),
    row.payment_link_expires_at.getTime(),
  );
  const { event_id, delivery_id, body } = eventOf(row, step, present) ?? {};
  const written = await sql`
    WITH inserted AS (
      INSERT INTO orders SELECT * FROM jsonb_populate_record(NULL::orders, ${sql.json(columnsOf(row))})
      WHERE created_at > service_now() - ${MAX_DELAY_SECONDS} * interval '1 second'
      ON CONFLICT (merchant_id, environment, idempotency_key) DO NOTHING
      RETURNING order_number, merchant_id, environment, status, created_at
    ), unstarted AS (
      INSERT INTO unstarted_orders SELECT order_number, created_at FROM inserted
    ), first_step AS (
      INSERT INTO order_steps (order_number, step_number, kind, at, status, step, unheard)
      SELECT order_number, ${step.number}, ${step.kind}, created_at, status,
        ${sql.json(step as object as postgres.JSONValue)}, false
      FROM inserted
    ), event AS (
      INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
      SELECT ${event_id ?? ''}, order_number, 1, ${step.number}, ${step.kind}, created_at,
        ${body ?? ''}
      FROM inserted
    ), delivery AS (
      INSERT INTO webhook_deliveries
        (delivery_id, event_id, merchant_id, environment, next_attempt_at)
      SELECT ${delivery_id ?? ''}, ${event_id ?? ''}, merchant_id, environment, created_at
      FROM inserted JOIN merchant_environments m USING (merchant_id, environment)
      WHERE m.webhook_url IS NOT NULL
    )
    SELECT FROM inserted`;
  return written.length > 0;
}

/** An order as nothing but its creation has made it. */
function newRow(order: NewOrder, createdAt: Date, paymentLinkExpiresAt: Date): OrderRow {
  return {
    ...order,
    status: 'ACCEPTED',
    busy: null,
    step_number: 1,
    dispute_count: 0,
    gateway_payment_id: null,
    payment_utr: null,
    paid_at: null,
    payment_link_expires_at: paymentLinkExpiresAt,
    completes_at: null,
    dispute_reason: null,
    dispute_raised_at: null,
    dispute_respond_by: null,
    dispute_evidence: null,
    dispute_resolution: null,
    dispute_decided_for: null,
    dispute_decision_reason: null,
    dispute_decided_at: null,
    dispute_ended_at: null,
    refund_amount_paise: null,
    refund_reason: null,
    refund_processed_at: null,
    cancelled_by: null,
    cancel_reason: null,
    cancelled_at: null,
    waiting_dispute_id: null,
    waiting_dispute_received_at: null,
    open_session_id: null,
    created_at: createdAt,
    updated_at: createdAt,
  };
}

/** The row as `jsonb_populate_record` reads it. */
function columnsOf({ request_hash, ...row }: OrderRow): postgres.JSONValue {
  const hash = `\\x${Buffer.from(request_hash).toString('hex')}`;
  return { ...row, request_hash: hash } as object as postgres.JSONValue;
}
