import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type postgres from 'postgres';
import { ulid } from 'ulid';
import type { Sql } from '../../db/client.ts';
import { json, jsonRow } from '../../db/client.ts';
import type { Environment } from '../../domain/index.ts';
import { ATTEMPT_LEASE_MS, firstChange, paiseFromRupees } from '../../domain/index.ts';
import { addRequestFields, requestFields } from '../../http/request-context.ts';
import { orderInputOf, wakeOrder } from '../wake/wake-order.ts';
import type { CreateOrder } from '../schemas.ts';
import type { CommandResult, SendDeps } from './send-command.ts';
import { eventOf } from '../steps/step-webhook.ts';
import type { PresentOrder } from '../presenter.ts';
import type { OrderRow } from '../rows.ts';
import { NO_DISPUTE } from '../steps/step-columns.ts';

interface OrderDurations {
  paymentLinkMs: number;
  completionWindowMs: number;
  disputeAnswerMs: number;
}

export interface CreateOrderDeps extends SendDeps {
  durations: OrderDurations & SendDeps['durations'];
}

interface CreateOrderRequest {
  merchantId: string;
  environment: Environment;
  idempotencyKey: string;
  body: CreateOrder;
  log: Logger;
}

/** Inserts the order's row, then starts its workflow. A repeat returns the existing order. */
export async function createOrder(
  deps: CreateOrderDeps,
  request: CreateOrderRequest,
): Promise<CommandResult> {
  const { sql, workflows, durations, present } = deps;
  const newOrder = newOrderOf(request, durations);
  const { order, isInserted, isNew } = await insertOrder(sql, newOrder, {
    paymentLinkMs: durations.paymentLinkMs,
    wakeAfterMs: durations.sweepAfterMs,
    present,
  });
  addRequestFields({ orderNumber: order.orderNumber });
  // The process that inserted the row may have died before it started the workflow, so a repeat starts it. But not
  // after the workflow has begun once: after Temporal's retention period the workflow id is free again, and a second
  // workflow would run.
  if (isInserted) await workflows.start(orderInputOf(order));
  else if (isNew) await wakeOrder(deps, order.orderNumber);
  // An erased order has no data to compare with.
  const isComparable = !isInserted && order.erasedAt === null;
  const mismatch = isComparable && Buffer.compare(newOrder.requestHash, order.requestHash) !== 0;
  if (mismatch) {
    request.log.warn({ orderNumber: order.orderNumber }, 'Idempotency-Key used for another body');
  }
  return { order: present(order), replayed: !isInserted, mismatch };
}

/** Makes the row of a new order, with a new order number and a new payment token. */
export function newOrderOf(
  request: Omit<CreateOrderRequest, 'log'>,
  durations: Omit<OrderDurations, 'paymentLinkMs'>,
): NewOrder {
  const { merchantId, environment, idempotencyKey, body } = request;
  const { completionWindowMs, disputeAnswerMs } = durations;
  const content = {
    merchantOrderId: body.merchantOrderId ?? null,
    amountPaise: paiseFromRupees(body.amount) ?? 0,
    description: body.description,
    buyerEmail: body.buyerEmail,
    buyerPhone: body.buyerPhone,
    buyerName: body.buyerName ?? '',
    // Left out of the hash if it is absent, so that hashes of earlier releases still match.
    ...(body.returnUrl != null && { returnUrl: body.returnUrl }),
  };
  return {
    returnUrl: null,
    ...content,
    orderNumber: `ORD${ulid()}`,
    merchantId,
    environment,
    idempotencyKey,
    requestHash: createHash('sha256').update(JSON.stringify(content)).digest(),
    paymentToken: randomBytes(24).toString('base64url'),
    terms: { environment, completionWindowMs, disputeAnswerMs },
  };
}

/** The columns that are equal in all new orders. */
export const INITIAL_COLUMNS = {
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
} as const satisfies Partial<OrderRow>;

type SetByInsert = 'gateway' | 'createdAt' | 'updatedAt' | 'paymentLinkExpiresAt';

/** The columns that POST /orders sets. {@link insertOrder} adds the merchant's gateway and the times. */
export type NewOrder = Omit<OrderRow, keyof typeof INITIAL_COLUMNS | SetByInsert>;

/**
 * Inserts an order with its first step, ORDER_CREATED, and that step's webhook event, or finds the order that has
 * its idempotency key. The order keeps the payment gateway that its merchant has now. The SQL function `create_order`
 * inserts all rows, so that exactly one of several concurrent equal requests inserts them.
 *
 * @param options.paymentLinkMs how long the payment link is valid, in milliseconds
 * @param options.wakeAfterMs after how many milliseconds the sweep wakes the order, unless its workflow has begun
 * @returns `isInserted`: false if an order with this idempotency key existed; `isNew`: true if no workflow of the order
 *   has begun
 */
export async function insertOrder(
  sql: Sql,
  order: NewOrder,
  options: { paymentLinkMs: number; wakeAfterMs: number; present: PresentOrder },
): Promise<{ order: OrderRow; isInserted: boolean; isNew: boolean }> {
  const { paymentLinkMs, wakeAfterMs, present } = options;
  for (;;) {
    const { now, gateway, hasWebhook, ...found } = await findByKey(sql, order);
    if (found.order) return { ...found, order: found.order, isInserted: false };
    const paymentLinkExpiresAt = new Date(now.getTime() + paymentLinkMs);
    const times = { createdAt: now, updatedAt: now, paymentLinkExpiresAt };
    const row = { ...order, ...INITIAL_COLUMNS, gateway, ...times };
    const isInserted = await insert(sql, row, { present, wakeAfterMs, hasWebhook });
    if (isInserted) return { order: row, isInserted, isNew: true };
    // A concurrent equal request has inserted its order; the next iteration finds it.
  }
}

type KeyOfOrder = Pick<NewOrder, 'merchantId' | 'environment' | 'idempotencyKey'>;

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

/** Finds the order with the same idempotency key, and reads what a new order needs of its merchant. */
async function findByKey(sql: Sql, newOrder: NewOrder) {
  const [row] = await sql<
    [OrderRow & { now: Date; chosen: string; hasWebhook: boolean; isNew: boolean }]
  >`
    SELECT o.*, date_trunc('milliseconds', service_now()) AS now,
      w.order_number IS NOT NULL AS is_new, m.gateway AS chosen,
      e.webhook_url IS NOT NULL AS has_webhook
    FROM shared.merchants m
    LEFT JOIN shared.merchant_environments e
      ON e.merchant_id = m.merchant_id AND e.environment = ${newOrder.environment}
    LEFT JOIN orders_with_dispute o ON o.order_number = ${orderOfKey(sql, newOrder)}
    LEFT JOIN order_wakeups w ON w.order_number = o.order_number AND w.cause = 'creation'
    WHERE m.merchant_id = ${newOrder.merchantId}`;
  const { now, isNew, chosen: gateway, hasWebhook, ...order } = row;
  const isFound = (order.orderNumber as string | null) !== null;
  return { now, gateway, hasWebhook, isNew, order: isFound ? order : undefined };
}

async function insert(
  sql: Sql,
  row: OrderRow,
  options: { present: PresentOrder; wakeAfterMs: number; hasWebhook: boolean },
): Promise<boolean> {
  const { present, wakeAfterMs, hasWebhook } = options;
  const { createdAt, paymentLinkExpiresAt } = row;
  const { step } = firstChange(row.terms, createdAt.getTime(), paymentLinkExpiresAt.getTime());
  const { deliveryId, ...event } = eventOf(row, step, present) ?? {};
  const sent = hasWebhook && { deliveryId, wakeAfterMs: wakeAfterMs + ATTEMPT_LEASE_MS };
  const [written] = await sql<[{ isInserted: boolean }]>`
    SELECT create_order(${rowOf(sql, row)},
      ${json(sql, step)}, ${jsonRow(sql, { ...event, ...sent })}, ${requestFields().requestId ?? null},
      ${wakeAfterMs}) AS is_inserted`;
  return written.isInserted;
}

/** The row in the JSON form that `jsonb_populate_record` reads. */
function rowOf(sql: Sql, { requestHash, ...row }: OrderRow) {
  const hash = `\\x${Buffer.from(requestHash).toString('hex')}`;
  return jsonRow(sql, { ...row, requestHash: hash });
}
