import type { DisputeEnding, DisputeRecord } from '../../orders/steps/disputes.ts';
import { DISPUTE_STATUSES } from '../../domain/index.ts';
import { listRunningDisputes, readDisputes } from '../../orders/steps/disputes.ts';
import { findOrderAnywhere } from '../../orders/lists/find-orders.ts';
import { DomainError } from '../../domain/index.ts';
import { ANY_ENVIRONMENT, ANY_MERCHANT, defineCommand, LIMIT, limitOf, ORDER } from './command.ts';
import { blocks, facts, moreHint, quoted, rupees, table, timeText } from './text.ts';

const ENDINGS = {
  resolved_by_merchant: 'resolved by the merchant',
  decided_for_merchant: 'decided for the merchant',
  decided_for_buyer: 'decided for the buyer, who is refunded',
  accepted_by_merchant: 'accepted by the merchant: the buyer is refunded',
  settled_by_operator: 'ended by an operator, who settled the order',
  not_resolved_in_time: 'not resolved in time: the buyer is refunded',
} as const satisfies Record<DisputeEnding, string>;

/** `dispute list` */
export const listDisputesCommand = defineCommand({
  name: 'dispute list',
  summary: 'List disputes that are open or under review, the nearest deadline first',
  options: {
    status: {
      value: DISPUTE_STATUSES.join('|'),
      help: 'Only disputes with this status',
      choices: DISPUTE_STATUSES,
    },
    merchant: ANY_MERCHANT,
    environment: ANY_ENVIRONMENT,
    limit: LIMIT,
  },
  async run({ sql }, { status, merchant: merchantId, environment, limit }) {
    const filter = { status, merchantId, environment };
    const data = await listRunningDisputes(sql, filter, limitOf(limit));
    const rows = data.disputes.map((dispute) => [
      dispute.respondBy,
      dispute.orderNumber,
      dispute.status,
      dispute.isRefunding ? 'refunding' : null,
      rupees(dispute.amountPaise),
      dispute.disputeCount,
      dispute.raisedAt,
      dispute.merchantId,
      dispute.environment,
    ]);
    const titles = ['UNTIL', 'ORDER', 'STATUS', 'BUSY', 'INR', 'DISPUTES', 'RAISED'];
    const text = table([...titles, 'MERCHANT', 'ENVIRONMENT'], rows);
    return { data, text: blocks(text, moreHint(data.hasMore)) };
  },
});

/** `dispute show` */
export const showDisputeCommand = defineCommand({
  name: 'dispute show',
  summary: 'Show the disputes of an order: reason, evidence, resolution and decision',
  options: { order: ORDER },
  async run({ sql }, { order: orderNumber }) {
    const order = await findOrderAnywhere(sql, orderNumber);
    const disputes = await readDisputes(sql, orderNumber);
    if (disputes.length === 0) {
      throw new DomainError('INVALID_STATE', `Order ${orderNumber} was never disputed`);
    }
    const { status, merchantId, environment, amountPaise } = order;
    const respondBy = order.disputeRespondBy;
    const data = { orderNumber, merchantId, environment, status, amountPaise, respondBy, disputes };
    const head = facts({
      Order: orderNumber,
      Merchant: `${merchantId} (${environment})`,
      Status: status,
      Amount: `INR ${rupees(amountPaise)}`,
      Description: order.description,
      'Answer until': respondBy ?? undefined,
    });
    return { data, text: blocks(head, ...disputes.map(disputeText)) };
  },
});

/** One dispute as text: its state, reason, evidence, resolution and decision. */
export function disputeText(dispute: DisputeRecord): string {
  const { number, raisedAt, raisedBy, reason, evidence, evidenceAt, resolution } = dispute;
  const by = raisedBy === 'buyer' ? '' : `, by ${raisedBy} for the buyer`;
  return [
    `Dispute ${number}: ${endText(dispute)}`,
    `The buyer, ${timeText(raisedAt)}${by}:`,
    quoted(reason),
    ...(evidenceAt ? [`The merchant, ${timeText(evidenceAt)}:`, quoted(evidence ?? '')] : []),
    ...(resolution === null ? [] : ['The merchant, to resolve it:', quoted(resolution)]),
    ...decisionLines(dispute),
  ].join('\n');
}

function endText({ ending, endedAt }: DisputeRecord): string {
  if (ending === null) return 'not decided yet';
  return `${ENDINGS[ending]} (${endedAt ? timeText(endedAt) : 'under way'})`;
}

function decisionLines({ decision }: DisputeRecord): string[] {
  if (!decision) return [];
  const { for: winner, actor, reason } = decision;
  return [`Decided for the ${winner}${actor === null ? '' : ` by ${actor}`}:`, quoted(reason)];
}
