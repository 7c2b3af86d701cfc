import { h } from 'preact';
import type { WithMerchantName } from '../../merchants/public.ts';
import type { DisputeEnding, DisputeRecord, OrderRow } from '../../orders/public.ts';
import { said } from '../view/order.ts';
import { hint, moment, money, orderStatus } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortId, shortMoment } from '../view/texts.ts';
import { whoCell } from './audit-entry.ts';
import { merchantIn } from './parts.ts';

const ENDINGS = {
  resolved_by_merchant: 'Resolved by the merchant',
  decided_for_merchant: 'Decided for the merchant',
  decided_for_buyer: 'Decided for the buyer, who is refunded',
  accepted_by_merchant: 'Accepted by the merchant: the buyer is refunded',
  settled_by_operator: 'Ended by an operator, who settled the order',
  not_resolved_in_time: 'Not resolved in time: the buyer is refunded',
} as const satisfies Record<DisputeEnding, string>;

export function disputeRecords(disputes: readonly DisputeRecord[]) {
  return disputes.map((dispute) =>
    h('div', { key: dispute.number, class: 'dispute' }, disputeRecord(dispute)),
  );
}

function disputeRecord(dispute: DisputeRecord) {
  const { number, raisedAt, raisedBy, reason, evidence, evidenceAt } = dispute;
  const { resolution, decision, endedAt } = dispute;
  return [
    h(
      'div',
      { class: 'said' },
      h(
        'h3',
        null,
        `Dispute ${number}: ${dispute.ending ? ENDINGS[dispute.ending] : 'not decided yet'}`,
      ),
      dispute.ending && hint(endedAt ? moment(endedAt) : 'under way'),
    ),
    said(
      [
        'The buyer, ',
        moment(raisedAt),
        raisedBy !== 'buyer' && [', raised by ', whoCell({ actor: raisedBy })],
      ],
      reason,
    ),
    evidenceAt && said(['The merchant, ', moment(evidenceAt)], evidence ?? ''),
    resolution !== null && said('The merchant, to resolve it', resolution),
    decision &&
      said(
        [
          `Decided for the ${decision.for} by `,
          decision.actor ? whoCell({ actor: decision.actor }) : 'an operator',
        ],
        decision.reason,
      ),
  ];
}

/** The nearest deadline first. */
export function disputeTable(disputes: readonly WithMerchantName<OrderRow>[], empty: string) {
  return dataTable({
    caption: 'Disputes by their deadline',
    isCompact: true,
    rows: disputes,
    empty,
    columns: {
      Until: ({ disputeRespondBy: until }) => until && shortMoment(until),
      Order: ({ orderNumber }) =>
        shortId('order number', orderNumber, `/operator/disputes/${orderNumber}`),
      Status: ({ status, pendingOperation, disputeCount }) => [
        orderStatus(status),
        h(
          'span',
          { class: 'hint' },
          pendingOperation !== null && ' Refunding',
          disputeCount > 1 && ` Dispute ${disputeCount}`,
        ),
      ],
      Amount: { isNumber: true, cell: ({ amountPaise }) => money(amountPaise) },
      Raised: ({ disputeRaisedAt: at }) => at && shortMoment(at),
      Merchant: { isLine: true, cell: merchantIn },
    },
  });
}
