import type postgres from 'postgres';
import type { Sql } from '../db/client.ts';
import { jsonRow } from '../db/client.ts';
import { createOrder } from '../domain/index.ts';
import { erasedKeyOf } from './erased-key.ts';
import { eventOf } from './event-body.ts';
import type { PresentOrder } from './presenter.ts';
import type { OrderRow } from './rows.ts';
import { NO_DISPUTE_ANSWER } from './step-columns.ts';

/** The columns that POST /orders sets. {@link insertOrder} adds the times, by the database's clock. */
export type NewOrder = Pick<
  OrderRow,
  | 'orderNumber'
  | 'merchantId'
  | 'environment'
  | 'idempotencyKey'
  | 'requestHash'
  | 'merchantOrderId'
  | 'amountPaise'
  | 'description'
  | 'buyerEmail'
  | 'buyerPhone'
  | 'buyerName'
  | 'paymentToken'
  | 'terms'
>;

/** The result of {@link insertOrder}. */
export interface InsertedOrder {
  /** The order as it is now. */
  order: OrderRow;
  /** False when an order with this idempotency key existed. */
  isInserted: boolean;
  /** No workflow of the order has begun yet. */
  isUnstarted: boolean;
}

/**
 * How old `created_at` may be when the row is inserted. Lists count orders in blocks of creation time, so
 * an order must not appear in a block that is already sealed.
 */
const MAX_INSERT_DELAY_SECONDS = 10;

/**
 * Inserts an order with its first step, ORDER_CREATED, and that step's webhook event, or finds the
 * order that has its idempotency key. The order keeps the payment gateway that its merchant has now.
 * All rows are inserted in one statement, so that exactly one of several concurrent equal requests
 * inserts them.
 *
 * @param options.paymentLinkMs how long the payment link is valid, in milliseconds
 */
export async function insertOrder(
  sql: Sql,
  order: NewOrder,
  options: { paymentLinkMs: number; present: PresentOrder },
): Promise<InsertedOrder> {
  const { paymentLinkMs, present } = options;
  for (;;) {
    const { now, gateway, ...found } = await findByKey(sql, order);
    if (found.order) return { ...found, order: found.order, isInserted: false };
    const paymentLinkExpiresAt = new Date(now.getTime() + paymentLinkMs);
    const row = newRow({ ...order, gateway, createdAt: now, paymentLinkExpiresAt });
    if (await insert(sql, row, present)) return { order: row, isInserted: true, isUnstarted: true };
    // An equal request inserted its order meanwhile: the next iteration finds it.
  }
}

/** Finds the order with the same idempotency key; reads the merchant's gateway and the database's clock. */
async function findByKey(sql: Sql, { merchantId, environment, idempotencyKey }: NewOrder) {
  const withKey = (key: string) => sql`
    SELECT order_number FROM orders
    WHERE merchant_id = ${merchantId} AND environment = ${environment} AND idempotency_key = ${key}`;
  const [row] = await sql<[OrderRow & { now: Date; isUnstarted: boolean; chosen: string }]>`
    SELECT o.*, date_trunc('milliseconds', service_now()) AS now,
      u.order_number IS NOT NULL AS is_unstarted, m.gateway AS chosen
    FROM merchants m
    LEFT JOIN orders o ON o.order_number = coalesce(
      (${withKey(idempotencyKey)}), (${withKey(erasedKeyOf(merchantId, idempotencyKey))}))
    LEFT JOIN unstarted_orders u ON u.order_number = o.order_number
    WHERE m.merchant_id = ${merchantId}`;
  const { now, isUnstarted: isWaiting, chosen: gateway, ...order } = row;
  const isFound = (order.orderNumber as string | null) !== null;
  return { now, gateway, isUnstarted: isWaiting, order: isFound ? order : undefined };
}

/** @returns true when no workflow of this order has begun yet */
export async function isUnstarted(sql: Sql, orderNumber: string): Promise<boolean> {
  const rows = await sql`SELECT FROM unstarted_orders WHERE order_number = ${orderNumber}`;
  return rows.length > 0;
}

async function insert(sql: Sql, row: OrderRow, present: PresentOrder): Promise<boolean> {
  const { step } = createOrder(
    row.terms,
    row.createdAt.getTime(),
    row.paymentLinkExpiresAt.getTime(),
  );
  const { eventId, deliveryId, body } = eventOf(row, step, present) ?? {};
  const written = await sql`
    WITH inserted AS (
      INSERT INTO orders SELECT * FROM jsonb_populate_record(NULL::orders, ${rowOf(sql, row)})
      WHERE created_at > service_now() - ${MAX_INSERT_DELAY_SECONDS} * interval '1 second'
      ON CONFLICT (merchant_id, environment, idempotency_key) DO NOTHING
      RETURNING order_number, merchant_id, environment, status, created_at
    ), unstarted AS (
      INSERT INTO unstarted_orders SELECT order_number, created_at FROM inserted
    ), first_step AS (
      INSERT INTO order_steps (order_number, step_number, kind, at, status, step, unacknowledged)
      SELECT order_number, ${step.number}, ${step.kind}, created_at, status,
        ${sql.json(step as object as postgres.JSONValue)}, false
      FROM inserted
    ), event AS (
      INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
      SELECT ${eventId ?? ''}, order_number, 1, ${step.number}, ${step.kind}, created_at,
        ${body ?? ''}
      FROM inserted
    ), delivery AS (
      INSERT INTO webhook_deliveries
        (delivery_id, event_id, merchant_id, environment, event_type, next_attempt_at)
      SELECT ${deliveryId ?? ''}, ${eventId ?? ''}, merchant_id, environment, ${step.kind},
        created_at
      FROM inserted JOIN merchant_environments m USING (merchant_id, environment)
      WHERE m.webhook_url IS NOT NULL
    )
    SELECT FROM inserted`;
  return written.length > 0;
}

/** The row of an order directly after its creation. */
function newRow(
  order: NewOrder & Pick<OrderRow, 'gateway' | 'createdAt' | 'paymentLinkExpiresAt'>,
): OrderRow {
  return {
    ...order,
    status: 'ACCEPTED',
    pendingOperation: null,
    stepNumber: 1,
    disputeCount: 0,
    gatewayPaymentId: null,
    paymentUtr: null,
    paidAt: null,
    completesAt: null,
    disputeReason: null,
    disputeRaisedAt: null,
    disputeRespondBy: null,
    ...NO_DISPUTE_ANSWER,
    refundAmountPaise: null,
    refundReason: null,
    refundProcessedAt: null,
    cancelledBy: null,
    cancelReason: null,
    cancelledAt: null,
    openSessionId: null,
    erasedAt: null,
    updatedAt: order.createdAt,
  };
}

/** The row in the JSON form that `jsonb_populate_record` reads. */
function rowOf(sql: Sql, { requestHash, ...row }: OrderRow) {
  const hash = `\\x${Buffer.from(requestHash).toString('hex')}`;
  return jsonRow(sql, { ...row, requestHash: hash });
}
