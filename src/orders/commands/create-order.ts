import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ulid } from 'ulid';
import type { Environment } from '../../domain/index.ts';
import { paiseFromRupees } from '../../domain/index.ts';
import { addRequestFields } from '../../http/request-context.ts';
import type { NewOrder } from './insert-order.ts';
import { insertOrder } from './insert-order.ts';
import { orderInputOf, wakeOrder } from '../wake/wake-order.ts';
import type { CreateOrder } from '../schemas.ts';
import type { CommandResult, SendDeps } from './send-command.ts';

export interface OrderDurations {
  paymentLinkMs: number;
  completionWindowMs: number;
  disputeAnswerMs: number;
}

export interface CreateOrderDeps extends SendDeps {
  durations: OrderDurations & SendDeps['durations'];
}

export interface CreateOrderRequest {
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
