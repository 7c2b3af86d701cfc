import type { Sql } from '../../db/client.ts';
import { readDisputes } from '../../orders/steps/disputes.ts';
import type { DisputeDecision } from '../../orders/commands/operator-commands.ts';
import type { OrderRow } from '../../orders/rows.ts';
import type { OutsideSettlement } from '../../payments/settlement/settle-outside.ts';
import { disputeText } from './dispute-list.ts';
import { blocks, facts, quoted, rupees } from './text.ts';

/** The sentences about consequences, loaded on demand. */
const consequences = () => import('../../payments/operators/consequences.ts');

const inr = (amountPaise: number) => `INR ${rupees(amountPaise)}`;

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
  const { consequenceOfDecision } = await consequences();
  const { order, sentence } = await consequenceOfDecision(sql, inr, orderNumber, winner);
  const disputes = await readDisputes(sql, orderNumber);
  return blocks(
    headOf(order),
    ...disputes.slice(-1).map(disputeText),
    sentence,
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
  const { consequenceOfRefund } = await consequences();
  const { order, sentence } = await consequenceOfRefund(sql, inr, orderNumber);
  return blocks(headOf(order), sentence, `The order's timeline will say:\n${quoted(reason)}`);
}

/**
 * Describes the consequences of a settlement outside the gateway, for the operator's confirmation.
 *
 * @throws DomainError `ORDER_NOT_FOUND`; `INVALID_STATE` if there is nothing to settle
 */
export async function describeSettlement(
  sql: Sql,
  { orderNumber, outcome, reference, reason, notChecked = false }: OutsideSettlement,
): Promise<string> {
  const { consequenceOfSettlement, NOT_CHECKED } = await consequences();
  const { order, sentence } = await consequenceOfSettlement(sql, inr, orderNumber, outcome);
  return blocks(
    headOf(order),
    sentence,
    notChecked && NOT_CHECKED,
    reference !== undefined && `Its reference is:\n${quoted(reference)}`,
    `Both sides will read:\n${quoted(reason)}`,
  );
}

function headOf(order: OrderRow): string {
  return facts({
    Order: order.orderNumber,
    Merchant: `${order.merchantId} (${order.environment})`,
    Status: order.status,
    Amount: inr(order.amountPaise),
    Description: order.description,
  });
}
