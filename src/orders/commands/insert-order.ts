import type postgres from 'postgres';
import type { Sql } from '../../db/client.ts';
import { jsonRow } from '../../db/client.ts';
import { createOrder } from '../../domain/index.ts';
import { requestFields } from '../../http/request-context.ts';
import { ATTEMPT_LEASE_MS } from '../../webhooks/public.ts';
import { eventOf } from '../steps/event-body.ts';
import type { PresentOrder } from '../presenter.ts';
import type { OrderRow } from '../rows.ts';
import { NO_DISPUTE } from '../steps/step-columns.ts';

/** The columns that POST /orders sets. {@link insertOrder} adds the times by the database's clock. */
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
  | 'returnUrl'
  | 'paymentToken'
  | 'terms'
>;

export interface InsertedOrder {
  order: OrderRow;
  /** False if an order with this idempotency key existed. */
  isInserted: boolean;
  /** True if no workflow of the order has begun. */
  isNew: boolean;
}

/**
 * The oldest `created_at` of an inserted row. Lists count orders in blocks of creation time, so an order must not
 * appear in a block that is already sealed.
 */
const MAX_INSERT_DELAY_SECONDS = 10;

/**
 * Inserts an order with its first step, ORDER_CREATED, and that step's webhook event, or finds the order that has
 * its idempotency key. The order keeps the payment gateway that its merchant has now. All rows are inserted in one
 * statement, so that exactly one of several concurrent equal requests inserts them.
 *
 * @param options.paymentLinkMs how long the payment link is valid, in milliseconds
 * @param options.wakeAfterMs after how many milliseconds the sweep wakes the order, unless its workflow has begun
 */
export async function insertOrder(
  sql: Sql,
  order: NewOrder,
  options: { paymentLinkMs: number; wakeAfterMs: number; present: PresentOrder },
): Promise<InsertedOrder> {
  const { paymentLinkMs, wakeAfterMs, present } = options;
  for (;;) {
    const { now, gateway, ...found } = await findByKey(sql, order);
    if (found.order) return { ...found, order: found.order, isInserted: false };
    const paymentLinkExpiresAt = new Date(now.getTime() + paymentLinkMs);
    const row = newRow({ ...order, gateway, createdAt: now, paymentLinkExpiresAt });
    const isInserted = await insert(sql, row, { present, wakeAfterMs });
    if (isInserted) return { order: row, isInserted, isNew: true };
    // A concurrent equal request has inserted its order; the next iteration finds it.
  }
}

export type KeyOfOrder = Pick<NewOrder, 'merchantId' | 'environment' | 'idempotencyKey'>;

/** SQL: the number of the order with a key, also of an erased order. Null if there is none. */
const orderOfKey = (sql: Sql, { merchantId, environment, idempotencyKey }: KeyOfOrder) => {
  const withKey = (key: postgres.Fragment) => sql`
    SELECT order_number FROM orders
    WHERE merchant_id = ${merchantId} AND environment = ${environment} AND idempotency_key = ${key}`;
  const erasedKey = sql`erased_key(${merchantId}, ${idempotencyKey})`;
  return sql`coalesce((${withKey(sql`${idempotencyKey}`)}), (${withKey(erasedKey)}))`;
};

export async function isKeyKnown(sql: Sql, key: KeyOfOrder): Promise<boolean> {
  const [row] = await sql<[{ isKnown: boolean }]>`
    SELECT ${orderOfKey(sql, key)} IS NOT NULL AS is_known`;
  return row.isKnown;
}

/** Finds the order with the same idempotency key, and reads the merchant's gateway and the database's clock. */
async function findByKey(sql: Sql, newOrder: NewOrder) {
  const [row] = await sql<[OrderRow & { now: Date; isNew: boolean; chosen: string }]>`
    SELECT o.*, date_trunc('milliseconds', service_now()) AS now,
      w.order_number IS NOT NULL AS is_new, m.gateway AS chosen
    FROM merchants m
    LEFT JOIN orders_with_dispute o ON o.order_number = ${orderOfKey(sql, newOrder)}
    LEFT JOIN order_wakeups w ON w.order_number = o.order_number AND w.cause = 'creation'
    WHERE m.merchant_id = ${newOrder.merchantId}`;
  const { now, isNew, chosen: gateway, ...order } = row;
  const isFound = (order.orderNumber as string | null) !== null;
  return { now, gateway, isNew, order: isFound ? order : undefined };
}

async function insert(
  sql: Sql,
  row: OrderRow,
  { present, wakeAfterMs }: { present: PresentOrder; wakeAfterMs: number },
): Promise<boolean> {
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
    ), first_step AS (
      INSERT INTO order_steps
        (order_number, step_number, merchant_id, kind, at, status, step, request_id)
      SELECT order_number, ${step.number}, merchant_id, ${step.kind}, created_at, status,
        ${sql.json(step as object as postgres.JSONValue)}, ${requestFields().requestId ?? null}
      FROM inserted
    ), event AS (
      INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
      SELECT ${eventId ?? ''}, order_number, 1, ${step.number}, ${step.kind}, created_at,
        ${body ?? ''}
      FROM inserted
    ), delivery AS (
      INSERT INTO webhook_deliveries
        (delivery_id, event_id, merchant_id, environment, event_type, next_attempt_at, wake_at)
      SELECT ${deliveryId ?? ''}, ${eventId ?? ''}, merchant_id, environment, ${step.kind},
        created_at, created_at + ${wakeAfterMs + ATTEMPT_LEASE_MS} * interval '1 millisecond'
      FROM inserted JOIN merchant_environments m USING (merchant_id, environment)
      WHERE m.webhook_url IS NOT NULL
    ), wakeup AS (
      INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
      SELECT order_number, 'creation'::wakeup_cause, '',
        created_at + ${wakeAfterMs} * interval '1 millisecond' FROM inserted
    )
    SELECT FROM inserted`;
  return written.length > 0;
}

function newRow(
  order: NewOrder & Pick<OrderRow, 'gateway' | 'createdAt' | 'paymentLinkExpiresAt'>,
): OrderRow {
  return {
    ...order,
    buyerLanguage: 'en',
    status: 'ACCEPTED',
    pendingOperation: null,
    stepNumber: 1,
    disputeCount: 0,
    gatewayPaymentId: null,
    paymentUtr: null,
    paidAt: null,
    reversedPaise: 0,
    completesAt: null,
    ...NO_DISPUTE,
    refundAmountPaise: null,
    refundReason: null,
    refundProcessedAt: null,
    cancelledBy: null,
    cancelReason: null,
    cancelledAt: null,
    waitingDisputeId: null,
    waitingDisputeReceivedAt: null,
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
