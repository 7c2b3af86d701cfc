import type { Sql } from '../../db/client.ts';
import type { Settlement } from '../../domain/index.ts';
import {
  DomainError,
  phasesThatTake,
  refusalOf,
  REFUSALS,
  SETTLE_COMMANDS,
  transitionOf,
} from '../../domain/index.ts';
import { showLedger } from '../../ledger/public.ts';
import type { OrderRow } from '../../orders/public.ts';
import { assertMerchantCannotRefund, findOrderAnywhere } from '../../orders/public.ts';
import { recordRefundsOwed } from '../funds/refunds.ts';
import type { GatewayDeps } from '../gateway/gateways.ts';
import { listSurplus } from '../settlement/settlement-queries.ts';
import { findOutsideSettlement } from './operator-queries.ts';

const HOUR_MS = 3_600_000;

/** What an operator's act will do to an order, shown before it is confirmed. */
export interface Consequence {
  order: OrderRow;
  /** Sentences that say where the money goes and which status the order gets. */
  sentence: string;
  amountPaise: number;
  /** Who gets, or has got, the amount. */
  to: 'the buyer' | 'the merchant';
  /** For a settlement of captures that the order could not take: their ids at the gateway. */
  surplus?: readonly string[];
}

/** What a settlement without a check at the gateway means, for the same confirmation. */
export const NOT_CHECKED =
  'If the gateway cannot be read, this is not checked: make sure that the gateway has not moved the money and will not.';

/** Formats an amount in paise, such as `INR 499.50`. */
type AmountText = (amountPaise: number) => string;

/** @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if there is no dispute to decide */
export async function consequenceOfDecision(
  sql: Sql,
  amountText: AmountText,
  orderNumber: string,
  winner: 'merchant' | 'buyer',
): Promise<Consequence> {
  const order = await findOrderAnywhere(sql, orderNumber);
  if (!transitionOf(order, 'decideForBuyer')) throw refusalOf(order, 'decideForBuyer');
  const amount = amountText(order.amountPaise);
  const hours = order.terms.completionWindowMs / HOUR_MS;
  const sentence =
    winner === 'buyer'
      ? `Decided for the buyer: ${amount} goes back to the buyer, and the order becomes REFUNDED.`
      : `Decided for the merchant: the order is DELIVERED again, and ${amount} is released to the merchant after ${hours} h without another dispute.`;
  return { order, sentence, amountPaise: order.amountPaise, to: `the ${winner}` };
}

/**
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if the order cannot be refunded, or its merchant can do it
 */
export async function consequenceOfRefund(
  sql: Sql,
  amountText: AmountText,
  orderNumber: string,
): Promise<Consequence> {
  const order = await findOrderAnywhere(sql, orderNumber);
  if (!transitionOf(order, 'refund')) throw refusalOf(order, 'refund');
  await assertMerchantCannotRefund(sql, order);
  const amount = amountText(order.amountPaise);
  const sentence = `${amount} goes back to the buyer, and the order becomes REFUNDED.`;
  return { order, sentence, amountPaise: order.amountPaise, to: 'the buyer' };
}

/**
 * @param asked.outcome by default that of the order's pending operation
 * @param asked.surplus as in a settlement; by default what {@link findSurplusToSettle} finds
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if there is nothing to settle
 */
export async function consequenceOfSettlement(
  sql: Sql,
  amountText: AmountText,
  orderNumber: string,
  asked: { outcome?: Settlement | undefined; surplus?: readonly string[] | undefined },
): Promise<Consequence> {
  const order = await findOrderAnywhere(sql, orderNumber);
  const named = asked.surplus ?? (await findSurplusToSettle(sql, order, asked.outcome));
  const outcome = asked.outcome ?? outcomeOf(order);
  const noMore = 'the gateway is not asked to move any more money';
  if (named.length === 0 && outcome !== undefined && (await canSettle(sql, order, outcome))) {
    const { balances } = await showLedger(sql, orderNumber);
    const heldPaise =
      balances.find(({ account }) => account === 'merchant_held')?.balancePaise ?? 0;
    const held = amountText(heldPaise);
    const reversedPaise = order.amountPaise - heldPaise;
    const reversed =
      reversedPaise > 0 ? `, and ${amountText(reversedPaise)} was reversed at the gateway` : '';
    const sentence =
      outcome === 'released'
        ? `${held} counts as paid out to the merchant by you${reversed}: the order becomes COMPLETED, and ${noMore}.`
        : `${held} counts as sent back to the buyer by you${reversed}: the order ${hasFailedRefund(order) ? 'stays' : 'becomes'} REFUNDED, and ${noMore}.`;
    const to = outcome === 'released' ? 'the merchant' : 'the buyer';
    return { order, sentence, amountPaise: heldPaise, to };
  }
  const surplus = (await listSurplus(sql, orderNumber)).filter(
    ({ gatewayPaymentId, isWaiting }) => isWaiting && named.includes(gatewayPaymentId),
  );
  if (surplus.length === 0) throw new DomainError('INVALID_STATE', REFUSALS.settleRefunded);
  const list = surplus
    .map((one) => `${amountText(one.amountPaise)} of payment ${one.gatewayPaymentId}`)
    .join(', ');
  const sentence = `${list} counts as sent back to the buyer by you: the order stays ${order.status}, and ${noMore}.`;
  const surplusPaise = surplus.reduce((sum, { amountPaise }) => sum + amountPaise, 0);
  return { order, sentence, amountPaise: surplusPaise, to: 'the buyer', surplus: named };
}

/**
 * Finds the captures that the order could not take and that wait for their refund.
 *
 * @returns their ids at the gateway; none if a settlement with this outcome is about the order's payment
 */
export async function findSurplusToSettle(
  sql: Sql,
  order: OrderRow,
  outcome = outcomeOf(order),
): Promise<string[]> {
  if (outcome === 'released' || (outcome && (await canSettle(sql, order, outcome)))) return [];
  const surplus = await listSurplus(sql, order.orderNumber);
  return surplus
    .filter(({ isWaiting }) => isWaiting)
    .map(({ gatewayPaymentId }) => gatewayPaymentId);
}

/**
 * Finds the order of a settlement. If nothing of it can be settled, the gateway is asked first, because a restored database
 * may not know what is owed.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; GatewayUnavailable, GatewayRefused, MoneyLeaseTaken
 */
export async function findOrderToSettle(
  deps: GatewayDeps,
  orderNumber: string,
  asked?: Settlement,
): Promise<OrderRow> {
  const order = await findOrderAnywhere(deps.sql, orderNumber);
  const outcome = asked ?? outcomeOf(order);
  const canBeSettled = outcome !== undefined && (await canSettle(deps.sql, order, outcome));
  if (canBeSettled || (await findSurplusToSettle(deps.sql, order, asked)).length > 0) return order;
  if (await findOutsideSettlement(deps.sql, orderNumber)) return order;
  await recordRefundsOwed(deps, orderNumber);
  return findOrderAnywhere(deps.sql, orderNumber);
}

/** The default outcome: that of the pending operation, or of a refund that has failed. */
export function outcomeOf(order: OrderRow): Settlement | undefined {
  const { pendingOperation } = order;
  if (pendingOperation?.kind === 'releasing') return 'released';
  const isRefunding = pendingOperation?.kind === 'refunding' || hasFailedRefund(order);
  return isRefunding ? 'refunded' : undefined;
}

/** True while the failed refund of a REFUNDED order is repeated. */
export function hasFailedRefund({
  status,
  refundProcessedAt,
}: Pick<OrderRow, 'status' | 'refundProcessedAt'>): boolean {
  return status === 'REFUNDED' && refundProcessedAt === null;
}

/** True if an operator can settle the order's payment with this outcome. */
export async function canSettle(
  sql: Sql,
  { orderNumber }: OrderRow,
  outcome: Settlement,
): Promise<boolean> {
  const phases = phasesThatTake(SETTLE_COMMANDS[outcome]);
  const [row] = await sql<{ canSettle: boolean }[]>`
    SELECT can_settle(o, ${outcome}, ${phases}::text[]) FROM shared.orders o WHERE order_number = ${orderNumber}`;
  return row?.canSettle ?? false;
}
