import type { Sql } from '../../db/client.ts';
import { DomainError, refusalOf, REFUSALS, transitionOf } from '../../domain/index.ts';
import { readDisputes } from '../../orders/disputes.ts';
import { findOrderAnywhere } from '../../orders/find-orders.ts';
import type { DisputeDecision } from '../../orders/operator-commands.ts';
import type { OrderRow } from '../../orders/rows.ts';
import { listCapturedPayments } from '../../payments/operator-queries.ts';
import type { OutsideSettlement } from '../../payments/settle-outside.ts';
import { disputeText } from './dispute-list.ts';
import { blocks, facts, quoted, rupees } from './text.ts';

const HOUR_MS = 3_600_000;

/**
 * What a decision will do, for whoever is asked whether to go on.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` when there is nothing to decide, so that
 *   nobody is asked in vain
 */
export async function whatDecideDoes(
  sql: Sql,
  orderNumber: string,
  { winner, reason }: DisputeDecision,
): Promise<string> {
  const order = await findOrderAnywhere(sql, orderNumber);
  if (order.status !== 'DISPUTE_UNDER_REVIEW') {
    throw new DomainError('INVALID_STATE', REFUSALS.decideForBuyer);
  }
  const amount = `INR ${rupees(order.amount_paise)}`;
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
 * What a refund will do, for whoever is asked whether to go on.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` when there is nothing to refund
 */
export async function whatRefundDoes(
  sql: Sql,
  orderNumber: string,
  reason: string,
): Promise<string> {
  const order = await findOrderAnywhere(sql, orderNumber);
  if (!transitionOf(order, 'refund')) throw refusalOf(order, 'refund');
  return blocks(
    headOf(order),
    `INR ${rupees(order.amount_paise)} goes back to the buyer, and the order becomes REFUNDED.`,
    `The order's timeline will say:\n${quoted(reason)}`,
  );
}

/**
 * What a settlement will do, for whoever is asked whether to go on.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` when there is nothing to settle
 */
export async function whatSettleDoes(
  sql: Sql,
  { orderNumber, reference, reason }: OutsideSettlement,
): Promise<string> {
  const order = await findOrderAnywhere(sql, orderNumber);
  return blocks(
    headOf(order),
    await settlementText(sql, order),
    `Its reference is:\n${quoted(reference)}\nBoth sides will read:\n${quoted(reason)}`,
  );
}

async function settlementText(sql: Sql, order: OrderRow): Promise<string> {
  const amount = `INR ${rupees(order.amount_paise)}`;
  const noMore = 'the gateway is asked to move nothing more';
  if (order.busy?.kind === 'releasing') {
    return `${amount} counts as paid out to the merchant by you: the order becomes COMPLETED, and ${noMore}.`;
  }
  if (order.busy?.kind === 'refunding') {
    return `${amount} counts as sent back to the buyer by you: the order becomes REFUNDED, and ${noMore}.`;
  }
  const payments = await listCapturedPayments(sql, order.order_number);
  const surplus = payments.filter(
    ({ surplusReason, refundedAt }) => surplusReason !== null && refundedAt === null,
  );
  if (surplus.length === 0) throw new DomainError('INVALID_STATE', REFUSALS.settle);
  const list = surplus
    .map((one) => `INR ${rupees(one.amountPaise)} of payment ${one.gatewayPaymentId}`)
    .join(', ');
  return `${list} counts as sent back to the buyer by you: the order stays ${order.status}, and ${noMore}.`;
}

function headOf(order: OrderRow): string {
  return facts({
    Order: order.order_number,
    Merchant: `${order.merchant_id} (${order.environment})`,
    Status: order.status,
    Amount: `INR ${rupees(order.amount_paise)}`,
    Description: order.description,
  });
}
