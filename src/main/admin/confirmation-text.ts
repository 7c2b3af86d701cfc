import type { Sql } from '../../db/client.ts';
import type { Settlement } from '../../domain/index.ts';
import {
  DomainError,
  refusalOf,
  REFUSALS,
  SETTLE_COMMANDS,
  transitionOf,
} from '../../domain/index.ts';
import { showLedger } from '../../ledger/verify.ts';
import { readDisputes } from '../../orders/disputes.ts';
import { findOrderAnywhere } from '../../orders/find-orders.ts';
import type { DisputeDecision } from '../../orders/operator-commands.ts';
import type { OrderRow } from '../../orders/rows.ts';
import { listCapturedPayments } from '../../payments/operator-queries.ts';
import { findBlockingReversals } from '../../payments/queries.ts';
import type { OutsideSettlement } from '../../payments/settle-outside.ts';
import { disputeText } from './dispute-list.ts';
import { blocks, facts, quoted, rupees } from './text.ts';

const HOUR_MS = 3_600_000;

/**
 * Describes the consequences of a dispute decision, for the operator's confirmation.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if no dispute is under review
 */
export async function describeDecision(
  sql: Sql,
  orderNumber: string,
  { winner, reason }: DisputeDecision,
): Promise<string> {
  const order = await findOrderAnywhere(sql, orderNumber);
  if (order.status !== 'DISPUTE_UNDER_REVIEW') {
    throw new DomainError('INVALID_STATE', REFUSALS.decideForBuyer);
  }
  const amount = `INR ${rupees(order.amountPaise)}`;
  const hours = order.terms.completionWindowMs / HOUR_MS;
  const consequence =
    winner === 'buyer'
      ? `Decided for the buyer: ${amount} goes back to the buyer, and the order becomes REFUNDED.`
      : `Decided for the merchant: the order is DELIVERED again, and ${amount} is released to the merchant after ${hours} h without another dispute.`;
  const disputes = await readDisputes(sql, orderNumber);
  return blocks(
    headOf(order),
    ...disputes.slice(-1).map(disputeText),
    consequence,
    `Both sides will read:\n${quoted(reason)}`,
  );
}

/**
 * Describes the consequences of a refund, for the operator's confirmation.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if the order cannot be refunded
 */
export async function describeRefund(
  sql: Sql,
  orderNumber: string,
  reason: string,
): Promise<string> {
  const order = await findOrderAnywhere(sql, orderNumber);
  if (!transitionOf(order, 'refund')) throw refusalOf(order, 'refund');
  return blocks(
    headOf(order),
    `INR ${rupees(order.amountPaise)} goes back to the buyer, and the order becomes REFUNDED.`,
    `The order's timeline will say:\n${quoted(reason)}`,
  );
}

/**
 * Describes the consequences of a settlement outside the gateway, for the operator's confirmation.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if there is nothing to settle
 */
export async function describeSettlement(
  sql: Sql,
  { orderNumber, outcome, reference, reason }: OutsideSettlement,
): Promise<string> {
  const order = await findOrderAnywhere(sql, orderNumber);
  return blocks(
    headOf(order),
    await settlementText(sql, order, outcome ?? outcomeOf(order)),
    reference !== undefined && `Its reference is:\n${quoted(reference)}`,
    `Both sides will read:\n${quoted(reason)}`,
  );
}

/** The outcome if the operator names none: that of the order's pending operation. */
function outcomeOf({ pendingOperation }: OrderRow): Settlement | undefined {
  if (pendingOperation?.kind === 'releasing') return 'released';
  return pendingOperation?.kind === 'refunding' ? 'refunded' : undefined;
}

async function settlementText(
  sql: Sql,
  order: OrderRow,
  outcome: Settlement | undefined,
): Promise<string> {
  const noMore = 'the gateway is not asked to move any more money';
  const isSettled = outcome !== undefined && (await canSettle(sql, order, outcome));
  if (isSettled) {
    const { held, reversed } = await amountsOf(sql, order);
    return outcome === 'released'
      ? `${held} counts as paid out to the merchant by you${reversed}: the order becomes COMPLETED, and ${noMore}.`
      : `${held} counts as sent back to the buyer by you${reversed}: the order becomes REFUNDED, and ${noMore}.`;
  }
  if (outcome === 'released') throw new DomainError('INVALID_STATE', REFUSALS.settleReleased);
  const payments = await listCapturedPayments(sql, order.orderNumber);
  const surplus = payments.filter(
    ({ surplusReason, refundedAt }) => surplusReason !== null && refundedAt === null,
  );
  if (surplus.length === 0) throw new DomainError('INVALID_STATE', REFUSALS.settleRefunded);
  const list = surplus
    .map((one) => `INR ${rupees(one.amountPaise)} of payment ${one.gatewayPaymentId}`)
    .join(', ');
  return `${list} counts as sent back to the buyer by you: the order stays ${order.status}, and ${noMore}.`;
}

async function canSettle(sql: Sql, order: OrderRow, outcome: Settlement): Promise<boolean> {
  if (!transitionOf(order, SETTLE_COMMANDS[outcome])) return false;
  return order.pendingOperation !== null || (await isReversed(sql, order));
}

async function isReversed(sql: Sql, { orderNumber }: OrderRow): Promise<boolean> {
  return (await findBlockingReversals(sql, orderNumber)).length > 0;
}

/** The amount of an order's payment that is still held, and the amount reversed at the gateway. */
async function amountsOf(sql: Sql, order: OrderRow) {
  const { balances } = await showLedger(sql, order.orderNumber);
  const heldPaise = balances.find(({ account }) => account === 'merchant_held')?.balancePaise ?? 0;
  const reversedPaise = order.amountPaise - heldPaise;
  const reversed =
    reversedPaise > 0 ? `, and INR ${rupees(reversedPaise)} was reversed at the gateway` : '';
  return { held: `INR ${rupees(heldPaise)}`, reversed };
}

function headOf(order: OrderRow): string {
  return facts({
    Order: order.orderNumber,
    Merchant: `${order.merchantId} (${order.environment})`,
    Status: order.status,
    Amount: `INR ${rupees(order.amountPaise)}`,
    Description: order.description,
  });
}
