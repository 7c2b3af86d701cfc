import { clearAlert } from '../../alerts/alerts.ts';
import type { Actor } from '../../db/actor.ts';
import type { Alongside, Sql } from '../../db/client.ts';
import type { Settlement } from '../../domain/index.ts';
import { DomainError, isFinal, REFUSALS } from '../../domain/index.ts';
import type { OrderRow } from '../../orders/public.ts';
import { findCarriedOut, findOrderAnywhere, findOrderByNumber } from '../../orders/public.ts';
import { canSettle, hasFailedRefund, outcomeOf } from '../operators/consequences.ts';
import type { GatewayDeps } from '../gateway/gateways.ts';
import type { RecordedSettlement } from '../operators/operator-queries.ts';
import { findOutsideSettlement } from '../operators/operator-queries.ts';
import { finishRefundAgain, finishSurplus } from '../funds/refund-queries.ts';
import type { NewSettlement, SurplusCapture } from './settlement-queries.ts';
import { listSurplus, writeSettlement, writeSurplusSettlement } from './settlement-queries.ts';
import type { PaymentSettlement } from './settle-payment.ts';
import { checkPayment, isFinalRefusal, settlePayment } from './settle-payment.ts';
import type { OrderWorkflows } from '../../temporal/order-workflows.ts';

/** The settlement is recorded, but the order was not notified. */
export class OrderNotNotifiedError extends Error {
  override readonly name = 'OrderNotNotifiedError';
}

interface SettleOutsideDeps extends GatewayDeps {
  workflows: OrderWorkflows;
  /** The operator. */
  actor: Actor;
  alongside?: Alongside | undefined;
}

/** An operator's statement of where an order's money is. */
export interface OutsideSettlement extends Omit<PaymentSettlement, 'outcome'> {
  /** Decides the order's final status and event. Default: the outcome of the pending operation. */
  outcome?: Settlement | undefined;
  /** The captures that the order could not take, by their ids at the gateway, if it is about these. */
  surplus?: readonly string[] | undefined;
}

const NOT_SEEN_BY_WORKFLOW =
  'The order was finished before it received this settlement: check that the gateway has not moved its money too';

/**
 * Records that an order's money counts as released or refunded, and finishes the order. It is for orders whose
 * release or refund was made outside the gateway, or whose payment was reversed at the gateway itself. A settlement of
 * captures that the order could not take changes no status. It holds the
 * money lease of the payment, and reads its refunds and transfers at the gateway: a settlement that contradicts them
 * is refused ({@link contradictionOf}). If this process dies after writing the row, the sweep wakes the order; a
 * repeat of the command with the same reference notifies it immediately.
 *
 * @returns the order, and a warning when it was finished before it received the settlement
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`; `INVALID_STATE` if the order is neither releasing nor
 * refunding its money and no part was reversed, another settlement is recorded, the gateway has moved the money,
 * another process is moving it, or another order has the reference; `GATEWAY_UNAVAILABLE` when the gateway cannot be
 * read and `notChecked` is not set
 * @throws OrderNotNotifiedError when the row is written, but the order could not be notified
 */
export async function settleOutside(
  deps: SettleOutsideDeps,
  asked: OutsideSettlement,
): Promise<{ order: OrderRow; warning: string | null }> {
  assertTexts(asked);
  const { orderNumber } = asked;
  const settlement = { ...asked, reference: asked.reference?.trim() };
  const outcome = await recordSettlement(deps, settlement);
  if (outcome === null) {
    return { order: await findOrderByNumber(deps.sql, orderNumber), warning: null };
  }
  const commandId = `settle:${orderNumber}`;
  const isNotified = await notifyOrder(deps, orderNumber, { commandId, outcome });
  const order = await findOrderByNumber(deps.sql, orderNumber);
  // The release or refund may have found the settlement before the message arrived.
  const isUsed = isNotified || (await findCarriedOut(deps.sql, { orderNumber, commandId }));
  if (isUsed) await clearAlerts(deps, orderNumber);
  return { order, warning: isUsed ? null : NOT_SEEN_BY_WORKFLOW };
}

/**
 * Asks the gateway whether a settlement could be recorded now. One that contradicts the gateway is refused.
 *
 * @throws DomainError `BAD_REQUEST`, `ORDER_NOT_FOUND`, `INVALID_STATE`, `GATEWAY_UNAVAILABLE` as
 * {@link settleOutside}
 */
export async function checkSettlement(
  deps: GatewayDeps,
  settlement: OutsideSettlement,
): Promise<void> {
  assertTexts(settlement);
  const order = await findOrderAnywhere(deps.sql, settlement.orderNumber);
  const { gateway, environment, gatewayPaymentId } = order;
  const named = await findNamed(deps.sql, settlement);
  const refunded = { ...settlement, outcome: 'refunded' } as const;
  for (const surplus of named) await checkPayment(deps, { ...surplus, environment }, refunded);
  if (named.length > 0) return;
  const outcome = settlement.outcome ?? outcomeOf(order);
  if (!outcome || !gatewayPaymentId || !(await canSettle(deps.sql, order, outcome))) return;
  const payment = { gateway, environment, gatewayPaymentId };
  await checkPayment(deps, payment, { ...settlement, outcome });
}

/** Clears the alerts about the order's money, which needs no operator after the settlement. */
async function clearAlerts({ sql, actor }: SettleOutsideDeps, orderNumber: string): Promise<void> {
  const kinds = [
    'gateway_refused',
    'refunded_at_gateway',
    'charged_back',
    'release_blocked',
  ] as const;
  const clearedBy = actor.name;
  await clearAlert(sql, kinds, orderNumber, 'the order was settled', { clearedBy });
}

/** @returns false when the order already has a final status. @throws OrderNotNotifiedError */
async function notifyOrder(
  { sql, workflows }: SettleOutsideDeps,
  orderNumber: string,
  settled: { commandId: string; outcome: Settlement },
): Promise<boolean> {
  const failed = async (cause: unknown): Promise<false> => {
    const { status } = await findOrderByNumber(sql, orderNumber);
    if (isFinal(status)) return false;
    const message = `The settlement is recorded, but order ${orderNumber} could not be notified: run the command again`;
    throw new OrderNotNotifiedError(message, { cause });
  };
  try {
    const outcome = await workflows.update(orderNumber, 'settle', settled);
    return outcome === 'done' || (await failed(outcome));
  } catch (error) {
    return failed(error);
  }
}

function assertTexts({ reference, reason }: OutsideSettlement): void {
  if (reference !== undefined && (reference.trim() === '' || reference.length > 200)) {
    throw new DomainError('BAD_REQUEST', 'The reference must be 1 to 200 characters and not blank');
  }
  if (reason.trim() === '' || reason.length > 1000) {
    throw new DomainError('BAD_REQUEST', 'The reason must be 1 to 1000 characters and not blank');
  }
}

/**
 * Records the settlement, unless the same one is recorded already.
 *
 * @returns the recorded outcome; null if the order need not be notified, because its refund had failed, or captures
 * that it could not take were settled
 */
async function recordSettlement(
  deps: SettleOutsideDeps,
  settlement: OutsideSettlement,
): Promise<Settlement | null> {
  const { sql, actor, alongside } = deps;
  const { orderNumber, outcome: asked } = settlement;
  const order = await findOrderAnywhere(sql, orderNumber);
  if (settlement.surplus?.length) return settleSurplus(deps, order, settlement);
  const earlier = await findOutsideSettlement(sql, orderNumber);
  if (earlier && isRepeated(earlier, settlement)) return earlier.outcome;
  const outcome = asked ?? outcomeOf(order);
  const { gateway, environment, gatewayPaymentId } = order;
  if (!earlier && outcome && gatewayPaymentId && (await canSettle(sql, order, outcome))) {
    const payment = { gateway, environment, gatewayPaymentId };
    await settlePayment(deps, payment, { ...settlement, outcome }, (checked) =>
      writeSettlement(sql, { actor, alongside }, orderNumber, checked),
    );
    if (!hasFailedRefund(order)) return outcome;
    // The refund's next attempt finds that it has ended, and does not call the gateway.
    await finishRefundAgain(sql, orderNumber);
    return null;
  }
  const refusal = earlier ? settledAlready(orderNumber, earlier) : REFUSALS.settleRefunded;
  throw new DomainError('INVALID_STATE', refusal);
}

function isRepeated(
  earlier: RecordedSettlement,
  { outcome = earlier.outcome, reference }: OutsideSettlement,
): boolean {
  return outcome === earlier.outcome && (reference ?? null) === earlier.reference;
}

function settledAlready(orderNumber: string, { outcome, reference }: RecordedSettlement): string {
  const how = reference === null ? `as ${outcome}` : `with reference ${reference}`;
  return `Order ${orderNumber} is settled outside already, ${how}`;
}

/** The surplus captures that a settlement names. */
async function findNamed(
  sql: Sql,
  { orderNumber, surplus: named = [] }: OutsideSettlement,
): Promise<SurplusCapture[]> {
  const surplus = await listSurplus(sql, orderNumber);
  return surplus.filter(({ gatewayPaymentId }) => named.includes(gatewayPaymentId));
}

/**
 * Settles each named capture under its own lease. One that fails stops no other: what has been settled is not refunded
 * by a retry. A repeat settles the rest.
 */
async function settleSurplus(
  deps: SettleOutsideDeps,
  { environment }: OrderRow,
  settlement: OutsideSettlement,
): Promise<null> {
  const { sql, actor, alongside } = deps;
  const refunded = { ...settlement, outcome: 'refunded' } as const;
  const failures: unknown[] = [];
  for (const surplus of await findNamed(sql, settlement)) {
    const isRecorded = surplus.isSettled && surplus.reference === (settlement.reference ?? null);
    const write = (checked: NewSettlement) =>
      writeSurplusSettlement(sql, { actor, alongside }, surplus, checked);
    try {
      if (!isRecorded) await settlePayment(deps, { ...surplus, environment }, refunded, write);
      // The refund's next attempt finds that it has ended, and does not call the gateway.
      await finishSurplus(sql, surplus);
    } catch (error) {
      failures.push(error);
    }
  }
  // A final refusal ends the repeats, so it comes last.
  const unfinished = failures.find((error) => !isFinalRefusal(error));
  if (unfinished !== undefined) throw unfinished;
  const refusals = failures.filter(isFinalRefusal).map(({ message }) => message);
  if (refusals.length > 0) throw new DomainError('INVALID_STATE', refusals.join('; '));
  return null;
}
