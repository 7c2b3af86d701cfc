import { h } from 'preact';
import type { DisputeEnding, DisputeRecord } from '../../orders/public.ts';
import { moment, written } from '../view/parts.ts';

const ENDINGS = {
  resolved_by_merchant: 'Resolved by the merchant',
  decided_for_merchant: 'Decided for the merchant',
  decided_for_buyer: 'Decided for the buyer, who is refunded',
  accepted_by_merchant: 'Accepted by the merchant: the buyer is refunded',
  settled_by_operator: 'Ended by an operator, who settled the order',
  not_resolved_in_time: 'Not resolved in time: the buyer is refunded',
} as const satisfies Record<DisputeEnding, string>;

/** Each dispute of an order with the texts of both sides, and how it ended. */
export function disputeRecords(disputes: readonly DisputeRecord[]) {
  return disputes.map((dispute) =>
    h('div', { key: dispute.number, class: 'dispute' }, disputeRecord(dispute)),
  );
}

function disputeRecord(dispute: DisputeRecord) {
  const { number, raisedAt, raisedBy, reason, evidence, evidenceAt, resolution, decision } =
    dispute;
  return [
    h('h3', null, `Dispute ${number}: `, endingOf(dispute)),
    h(
      'p',
      { class: 'hint' },
      'The buyer, ',
      moment(raisedAt),
      raisedBy === 'buyer' ? '' : `, raised by ${raisedBy}`,
    ),
    written(reason),
    evidenceAt && [
      h('p', { class: 'hint' }, 'The merchant, ', moment(evidenceAt)),
      written(evidence ?? ''),
    ],
    resolution !== null && [
      h('p', { class: 'hint' }, 'The merchant, to resolve it'),
      written(resolution),
    ],
    decision && [
      h(
        'p',
        { class: 'hint' },
        `Decided for the ${decision.for} by ${decision.actor ?? 'an operator'}`,
      ),
      written(decision.reason),
    ],
  ];
}

function endingOf({ ending, endedAt }: DisputeRecord) {
  if (ending === null) return 'not decided yet';
  return [ENDINGS[ending], ' (', endedAt ? moment(endedAt) : 'under way', ')'];
}
