import { h } from 'preact';
import type { DisputeEnding, DisputeRecord } from '../../orders/public.ts';
import { moment, section, written } from '../view/parts.ts';

/** How a dispute ended, as its merchant reads it. */
export const ENDINGS = {
  resolved_by_merchant: 'You resolved it.',
  decided_for_merchant: 'It was decided for you.',
  decided_for_buyer: 'It was decided for the buyer.',
  accepted_by_merchant: 'You accepted it; the buyer is refunded.',
  not_resolved_in_time: 'It was not resolved in time; the buyer is refunded.',
  settled_by_operator: 'The money was settled outside the gateway.',
} as const satisfies Record<DisputeEnding, string>;

/** Every dispute of an order with the words of both sides; null if there never was one. */
export function disputesSection(disputes: readonly DisputeRecord[], now: Date) {
  if (disputes.length === 0) return null;
  const title = disputes.length === 1 ? 'Dispute' : 'Disputes';
  return section('disputes', title, ...disputes.map((dispute) => disputeView(dispute, now)));
}

function disputeView(dispute: DisputeRecord, now: Date) {
  const { number, raisedAt, reason, evidence, evidenceAt, resolution, decision } = dispute;
  const { ending, endedAt } = dispute;
  return h(
    'div',
    { key: number, class: 'dispute' },
    words('The buyer', raisedAt, reason, now),
    evidence !== null && words('You', evidenceAt, evidence, now),
    resolution !== null && words('You, to resolve it', endedAt, resolution, now),
    decision && words(`The decision for the ${decision.for}`, endedAt, decision.reason, now),
    ending && h('p', null, ENDINGS[ending]),
  );
}

/** What one side wrote. */
export function words(who: string, at: Date | null, text: string, now: Date) {
  return h(
    'div',
    { class: 'said' },
    h('p', { class: 'hint' }, who, at && [', ', moment(at, now)]),
    written(text),
  );
}
