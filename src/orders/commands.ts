import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { ulid } from 'ulid';
import type { OrderMessageName, OrderMessages } from '../contracts/order-workflow.ts';
import type { Sql } from '../db/client.ts';
import type { CommandType, Environment } from '../domain/index.ts';
import {
  DomainError,
  paiseFromRupees,
  refusalOf,
  REFUSALS,
  statusesThatTake,
} from '../domain/index.ts';
import { addRequestFields } from '../http/request-context.ts';
import { findOrderByNumber } from './find-orders.ts';
import type { NewOrder } from './insert-order.ts';
import { insertOrder } from './insert-order.ts';
import type { PresentOrder } from './presenter.ts';
import { countFailedCancels, hasUnheardSteps } from './queries.ts';
import type { RecoveryDeps } from './recovery.ts';
import { orderInputOf, recoverOrder } from './recovery.ts';
import {
  findCarriedOut,
  hearCarriedOut,
  isMismatch,
  removeRequest,
  writeDispute,
  writeRequest,
} from './request-queries.ts';
import type { OrderRow, RequestBody } from './rows.ts';
import type { CreateOrder, Order } from './schemas.ts';

/** How long an order's deadlines run, in milliseconds. */
export interface OrderDurations {
  paymentLinkMs: number;
  completionWindowMs: number;
  disputeAnswerMs: number;
}

export interface OrderDeps extends RecoveryDeps {
  durations: OrderDurations;
  present: PresentOrder;
}

/** Who creates an order, and under which key. */
export interface CreateOrderRequest {
  merchantId: string;
  environment: Environment;
  idempotencyKey: string;
  body: CreateOrder;
  log: Logger;
}

/** Of a command that the API takes without one, such as to accept a dispute. */
const NO_REASON_ASKED = 'Asked for through the API';

/** What came of a request, whether it was carried out now or before. */
export interface CommandResult {
  /** As it stands now. */
  order: Order;
  /** This request came before. */
  replayed: boolean;
  /** It came with another body then, and that one counts. */
  mismatch: boolean;
}

/** Commands that a client can repeat safely. */
export interface OrderCommands {
  /** Row first, then workflow: when this returns, both are there. */
  create(request: CreateOrderRequest): Promise<CommandResult>;
  /**
   * Sends a message to the order's workflow, with what the request asks for written down before.
   *
   * @param message.requestId equal for a repeat, which is carried out once
   * @param body what the client asks for: its texts, which Temporal must not see, and its numbers
   * @param actor who asks, where that is not the order's merchant
   * @throws DomainError the refusal
   */
  send<Name extends OrderMessageName>(
    order: OrderRow,
    name: Name,
    message: OrderMessages[Name] & { requestId: string },
    body?: RequestBody,
    actor?: string,
  ): Promise<CommandResult>;
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
  ): Promise<CommandResult>;
  /** The result of a request that was carried out before, for one that has work to do first. */
  findRepeated(order: OrderRow, requestId: string): Promise<CommandResult | undefined>;
}

/**
 * The id of a request: equal for a repeat with the same Idempotency-Key, else fresh. Temporal sees
 * it, and a key may hold anything, such as a buyer's address: so it is an HMAC of operation and key,
 * keyed with the order's payment token, which Temporal never sees.
 */
export function requestIdOf(
  { paymentToken: secret }: OrderRow,
  operation: string,
  idempotencyKey: string | undefined,
): string {
  if (idempotencyKey === undefined) return newRequestId();
  const hmac = createHmac('sha256', secret).update(`${operation}:${idempotencyKey}`);
  return `req_${hmac.digest('base64url')}`;
}

/** The id of a request that has no Idempotency-Key. */
export function newRequestId(): string {
  return `req_${ulid()}`;
}

export function createOrderCommands(deps: OrderDeps): OrderCommands {
  return {
    create: (request) => createOrder(deps, request),
    send: (...request) => send(deps, ...request),
    raiseDispute: (...request) => raiseDispute(deps, ...request),
    findRepeated: ({ orderNumber }, requestId) => findRepeated(deps, orderNumber, requestId, {}),
  };
}

async function createOrder(deps: OrderDeps, request: CreateOrderRequest): Promise<CommandResult> {
  const newOrder = newOrderOf(request, deps.durations);
  const { order, isInserted, isUnstarted } = await insertOrder(deps.sql, newOrder, {
    paymentLinkMs: deps.durations.paymentLinkMs,
    present: deps.present,
  });
  addRequestFields({ orderNumber: order.orderNumber });
  // A replay starts nothing once the workflow has begun: its id is free again after Temporal's
  // retention. Before that, starting it again repairs what a died process left.
  if (isUnstarted) await deps.workflows.start(orderInputOf(order));
  const mismatch = !isInserted && Buffer.compare(newOrder.requestHash, order.requestHash) !== 0;
  if (mismatch) {
    request.log.warn({ orderNumber: order.orderNumber }, 'Idempotency-Key used for another body');
  }
  return { order: deps.present(order), replayed: !isInserted, mismatch };
}

/** The row of a request: amounts in paise, a fresh order number and payment token. */
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
  };
  return {
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

async function send<Name extends OrderMessageName>(
  deps: OrderDeps,
  order: OrderRow,
  name: Name,
  message: OrderMessages[Name] & { requestId: string },
  body: RequestBody = {},
  actor = order.merchantId,
): Promise<CommandResult> {
  const { orderNumber } = order;
  const { requestId } = message;
  const responsible = { actor, reason: String(body['reason'] ?? NO_REASON_ASKED) };
  const known = await writeRequest(deps.sql, orderNumber, requestId, body, responsible);
  const before = known.replayed && (await findCarriedOut(deps.sql, orderNumber, requestId));
  const after = before || (await carryOut(deps, order, name, message));
  return { order: deps.present(after), ...known };
}

async function raiseDispute(
  deps: OrderDeps,
  order: OrderRow,
  requestId: string,
  reason: string,
  operator?: string,
): Promise<CommandResult> {
  const { orderNumber } = order;
  const dispute = { requestId, reason, operator };
  const written = await writeDispute(deps.sql, orderNumber, dispute);
  if (!written) {
    const repeated = await findRepeated(deps, orderNumber, requestId, { reason });
    if (repeated) return repeated;
    throw refusalOf(await findOrderByNumber(deps.sql, orderNumber), 'dispute');
  }
  const { receivedAt, ...known } = written;
  const message = { requestId, receivedAtMs: receivedAt.getTime() };
  return { order: deps.present(await carryOut(deps, order, 'dispute', message)), ...known };
}

async function findRepeated(
  { sql, present }: OrderDeps,
  orderNumber: string,
  requestId: string,
  body: RequestBody,
): Promise<CommandResult | undefined> {
  const order = await findCarriedOut(sql, orderNumber, requestId);
  if (!order) return undefined;
  const mismatch = await isMismatch(sql, orderNumber, requestId, body);
  return { order: present(order), replayed: true, mismatch };
}

/** @returns the order as it stands once this request is carried out */
async function carryOut<Name extends OrderMessageName>(
  deps: OrderDeps,
  order: OrderRow,
  name: Name,
  message: OrderMessages[Name] & { requestId: string },
): Promise<OrderRow> {
  const { orderNumber } = order;
  const { requestId } = message;
  try {
    const updateId = await updateIdOf(deps, orderNumber, name, requestId);
    const outcome = await updateStarted(deps, order, name, message, updateId);
    const after = await hearCarriedOut(deps.sql, orderNumber, requestId);
    if (after) return after;
    throw outcome === 'gone' ? refusal(commandOf(name)) : lost(name);
  } catch (error) {
    // Written, but its workflow task was lost: the order takes it over from the book.
    const after = await findCarriedOut(deps.sql, orderNumber, requestId);
    if (after) return after;
    // Refused: what it asked for goes. After any other failure it may still be carried out.
    if (error instanceof DomainError) {
      await removeRequest(deps.sql, orderNumber, requestId);
    }
    throw error;
  }
}

/** Brings the order's workflow back first, if it is missing. */
async function updateStarted<Name extends OrderMessageName>(
  deps: OrderDeps,
  order: OrderRow,
  name: Name,
  message: OrderMessages[Name] & { requestId: string },
  updateId: string,
): Promise<'done' | 'gone'> {
  const { orderNumber } = order;
  const outcome = await updateCaughtUp(deps, orderNumber, name, message, updateId);
  if (outcome === 'done' || (await recoverOrder(deps, orderNumber)) === 'final') return outcome;
  return updateCaughtUp(deps, orderNumber, name, message, updateId);
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
    if (!isRefusal || !(await mayDiffer(sql, orderNumber, name))) throw error;
    await workflows.catchUp(orderNumber);
    return workflows.update(orderNumber, name, message, `${updateId}:caught-up`);
  }
}

/** True when the row would take a command that its workflow has refused, or has steps that it may lack. */
async function mayDiffer(sql: Sql, orderNumber: string, name: OrderMessageName): Promise<boolean> {
  const { status, busy } = await findOrderByNumber(sql, orderNumber);
  if (busy === null && statusesThatTake(commandOf(name)).includes(status)) return true;
  // Of many commands at once one wins, and the others are refused before it has heard. But no
  // dispute that the database has taken may be refused.
  const olderThanMs = name === 'dispute' ? 0 : HEARD_WITHIN_MS;
  return hasUnheardSteps(sql, orderNumber, olderThanMs);
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
  const failed = name === 'cancel' ? await countFailedCancels(sql, orderNumber) : 0;
  return failed === 0 ? requestId : `${requestId}:${failed}`;
}

/** The command of a message, as far as its refusal goes. */
function commandOf(name: OrderMessageName): CommandType {
  if (name === 'decide') return 'decideForBuyer';
  return name === 'settle' ? 'settleRefunded' : name;
}

/** A workflow that is gone was final: no command fits any more. */
function refusal(command: CommandType): DomainError {
  return new DomainError('INVALID_STATE', REFUSALS[command]);
}

function lost(name: OrderMessageName): Error {
  return new Error(`${name} was carried out, but its step is not recorded`);
}
