import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ulid } from 'ulid';
import type { OrderInput, OrderMessageName, OrderMessages } from '../contracts/order-workflow.ts';
import type { Sql } from '../db/client.ts';
import type { CommandType, Environment } from '../domain/index.ts';
import { DomainError, paiseFromRupees, refusalOf, REFUSALS } from '../domain/index.ts';
import { noteRequest } from '../http/request-context.ts';
import type { OrderWorkflows } from '../temporal/order-workflows.ts';
import * as queries from './queries.ts';
import type { OrderRow } from './rows.ts';
import type { CreateOrder, Order } from './schemas.ts';

/** How long an order's deadlines run, in milliseconds. */
export interface OrderDurations {
  paymentLinkMs: number;
  completionWindowMs: number;
  disputeAnswerMs: number;
}

export interface OrderDeps {
  sql: Sql;
  workflows: OrderWorkflows;
  durations: OrderDurations;
}

/** Who creates an order, and under which key. */
export interface CreateOrderRequest {
  merchantId: string;
  environment: Environment;
  idempotencyKey: string;
  body: CreateOrder;
  log: Logger;
}

export interface CreatedOrder {
  order: OrderRow;
  replayed: boolean;
  /** The key was used before for a different body: the existing order is returned all the same. */
  mismatch: boolean;
}

/** Commands that a client can repeat safely: the messages, and whether they carry texts. */
export interface OrderCommands {
  /** Row first, then workflow: when this returns, both are there. */
  create(request: CreateOrderRequest): Promise<CreatedOrder>;
  /**
   * Sends a message to the order's workflow, with its texts written down before.
   *
   * @param requestId equal for a repeat, which then gets the first answer again
   * @returns the order as it was right after this command
   * @throws DomainError the refusal
   */
  send<Name extends OrderMessageName>(
    order: OrderRow,
    name: Name,
    message: OrderMessages[Name] & { requestId: string },
    texts?: Record<string, string>,
  ): Promise<Order>;
  /**
   * Writes a buyer's dispute down, which makes it count, and raises it.
   *
   * @param operator who raises it for the buyer: an audit row names them
   */
  raiseDispute(
    order: OrderRow,
    requestId: string,
    reason: string,
    operator?: string,
  ): Promise<Order>;
}

/** A request id: the merchant's own key where there is one, else fresh. */
export function requestIdOf(operation: string, idempotencyKey: string | undefined): string {
  return idempotencyKey === undefined ? `req_${ulid()}` : `${operation}:${idempotencyKey}`;
}

/** The workflow's input, made of nothing but the row, so that the sweeper can make it too. */
export function orderInputOf(order: OrderRow): OrderInput {
  return {
    orderNumber: order.order_number,
    merchantId: order.merchant_id,
    amountPaise: order.amount_paise,
    createdAtMs: order.created_at.getTime(),
    paymentLinkExpiresAtMs: order.payment_link_expires_at.getTime(),
    terms: order.terms,
  };
}

export function createOrderCommands(deps: OrderDeps): OrderCommands {
  return {
    create: (request) => createOrder(deps, request),
    send: (order, name, message, texts) => send(deps, order, name, message, texts),
    raiseDispute: (...request) => raiseDispute(deps, ...request),
  };
}

async function createOrder(deps: OrderDeps, request: CreateOrderRequest): Promise<CreatedOrder> {
  const newOrder = newOrderOf(request, deps.durations);
  const { order, inserted } = await queries.insertOrder(
    deps.sql,
    newOrder,
    deps.durations.paymentLinkMs,
  );
  noteRequest({ orderNumber: order.order_number });
  // A replay starts nothing once the first step is recorded: the workflow's id is free again after
  // Temporal's retention. Before that, starting it again repairs what a died process left.
  if (order.step_number === 0) await deps.workflows.start(orderInputOf(order));
  const mismatch = !inserted && Buffer.compare(newOrder.request_hash, order.request_hash) !== 0;
  if (mismatch) {
    request.log.warn({ orderNumber: order.order_number }, 'Idempotency-Key used for another body');
  }
  return { order, replayed: !inserted, mismatch };
}

/** The row of a request: amounts in paise, a fresh order number and payment token. */
export function newOrderOf(
  request: Omit<CreateOrderRequest, 'log'>,
  durations: Omit<OrderDurations, 'paymentLinkMs'>,
): queries.NewOrder {
  const { merchantId, environment, idempotencyKey, body } = request;
  const { completionWindowMs, disputeAnswerMs } = durations;
  const content = {
    merchant_order_id: body.merchantOrderId ?? null,
    amount_paise: paiseFromRupees(body.amount) ?? 0,
    description: body.description,
    buyer_email: body.buyerEmail,
    buyer_phone: body.buyerPhone,
    buyer_name: body.buyerName ?? '',
  };
  return {
    ...content,
    order_number: `ORD${ulid()}`,
    merchant_id: merchantId,
    environment,
    idempotency_key: idempotencyKey,
    request_hash: createHash('sha256').update(JSON.stringify(content)).digest(),
    payment_token: randomBytes(24).toString('base64url'),
    terms: { environment, completionWindowMs, disputeAnswerMs },
  };
}

async function send<Name extends OrderMessageName>(
  deps: OrderDeps,
  order: OrderRow,
  name: Name,
  message: OrderMessages[Name] & { requestId: string },
  texts: Record<string, string> = {},
): Promise<Order> {
  const { order_number: orderNumber } = order;
  const { requestId } = message;
  const repeated = await queries.findAnswer(deps.sql, orderNumber, requestId);
  if (repeated) return repeated;
  if (Object.keys(texts).length > 0) {
    await queries.writeRequest(deps.sql, orderNumber, requestId, texts);
  }
  return carryOut(deps, order, name, message);
}

async function raiseDispute(
  deps: OrderDeps,
  order: OrderRow,
  requestId: string,
  reason: string,
  operator?: string,
): Promise<Order> {
  const { order_number: orderNumber } = order;
  const repeated = await queries.findAnswer(deps.sql, orderNumber, requestId);
  if (repeated) return repeated;
  const dispute = { requestId, reason, operator };
  const receivedAt = await queries.writeDispute(deps.sql, orderNumber, dispute);
  if (!receivedAt) {
    // An equal request may have been carried out since we looked.
    const answer = await queries.findAnswer(deps.sql, orderNumber, requestId);
    if (answer) return answer;
    throw refusalOf(await queries.findOrderByNumber(deps.sql, orderNumber), 'dispute');
  }
  const message = { requestId, receivedAtMs: receivedAt.getTime() };
  return carryOut(deps, order, 'dispute', message);
}

async function carryOut<Name extends OrderMessageName>(
  deps: OrderDeps,
  order: OrderRow,
  name: Name,
  message: OrderMessages[Name] & { requestId: string },
): Promise<Order> {
  const { order_number: orderNumber } = order;
  const { requestId } = message;
  try {
    if (order.step_number === 0) await deps.workflows.start(orderInputOf(order));
    const updateId = await updateIdOf(deps, orderNumber, name, requestId);
    const outcome = await updateCaughtUp(deps, orderNumber, name, message, updateId);
    const answer = await queries.hearAnswer(deps.sql, orderNumber, requestId);
    if (answer) return answer;
    throw outcome === 'gone' ? refusal(name === 'decide' ? 'decideForBuyer' : name) : lost(name);
  } catch (error) {
    // Written, but its workflow task was lost: the order takes it over from the book.
    const answer = await queries.findAnswer(deps.sql, orderNumber, requestId);
    if (answer) return answer;
    // Refused: its texts go. After any other failure the request may still be carried out.
    if (error instanceof DomainError) {
      await queries.removeRequest(deps.sql, orderNumber, requestId);
    }
    throw error;
  }
}

/** So long after its step is recorded the answer to a command has been heard, unless it is lost. */
const HEARD_WITHIN_MS = 1000;

/** A refusal counts only if the workflow knows of everything that is in the book. */
async function updateCaughtUp<Name extends OrderMessageName>(
  { sql, workflows }: OrderDeps,
  orderNumber: string,
  name: Name,
  message: OrderMessages[Name] & { requestId: string },
  updateId: string,
): Promise<'done' | 'gone'> {
  try {
    return await workflows.update(orderNumber, name, message, updateId);
  } catch (error) {
    const isRefusal = error instanceof DomainError && error.code === 'INVALID_STATE';
    // Of many commands at once one wins, and the others are refused before it has heard. But no
    // dispute that the book has taken may be refused.
    const olderThanMs = name === 'dispute' ? 0 : HEARD_WITHIN_MS;
    if (!isRefusal || !(await queries.hasUnheardSteps(sql, orderNumber, olderThanMs))) throw error;
    await workflows.catchUp(orderNumber);
    return workflows.update(orderNumber, name, message, `${updateId}:caught-up`);
  }
}

/**
 * Temporal answers an Update that comes again as it answered the first. A cancel that was 502
 * changed nothing and may be tried again with the same key, so from then on it is another Update.
 */
async function updateIdOf(
  { sql }: OrderDeps,
  orderNumber: string,
  name: OrderMessageName,
  requestId: string,
): Promise<string> {
  const failed = name === 'cancel' ? await queries.countFailedCancels(sql, orderNumber) : 0;
  return failed === 0 ? requestId : `${requestId}:${failed}`;
}

/** A workflow that is gone was final: no command fits any more. */
function refusal(command: CommandType): DomainError {
  return new DomainError('INVALID_STATE', REFUSALS[command]);
}

function lost(name: OrderMessageName): Error {
  return new Error(`${name} was carried out, but its step has no answer`);
}
