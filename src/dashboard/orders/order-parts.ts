import { h } from 'preact';
import type { RunningLine } from '../../ledger/public.ts';
import type {
  DisputeEnding,
  DisputeRecord,
  OrderRow,
  TimelinePart,
  TimelineRow,
} from '../../orders/public.ts';
import { isRefundForMerchant } from '../../orders/public.ts';
import type { TimelineEntry } from '../view/order.ts';
import { said, STEP_LABELS, timelineSection } from '../view/order.ts';
import { deliveryState, hint, moment, money, section } from '../view/parts.ts';
import { dataTable } from '../view/table.ts';
import { shortMoment } from '../view/texts.ts';
import { link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';
import { orderPath } from './parts.ts';

/** The endings of a dispute in the merchant's words. */
const ENDINGS = {
  resolved_by_merchant: 'You resolved it.',
  decided_for_merchant: 'It was decided for you.',
  decided_for_buyer: 'It was decided for the buyer.',
  accepted_by_merchant: 'You accepted it; the buyer is refunded.',
  not_resolved_in_time: 'It was not resolved in time; the buyer is refunded.',
  settled_by_operator: 'The money was settled outside the gateway.',
} as const satisfies Record<DisputeEnding, string>;

/** Every dispute with the words of both sides; null without disputes. */
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

export const words = (who: string, at: Date | null, text: string, now: Date) =>
  said([who, at && [', ', moment(at, now)]], text);

/** The timeline, the latest entry first, with the state of each webhook. */
export function orderTimeline(order: OrderRow, { rows, earlier }: TimelinePart, now: Date) {
  const entries = rows.map((row) => entryOf(order, row, now));
  return timelineSection(entries, { path: orderPath(order), earlier }, now);
}

function entryOf(order: OrderRow, row: TimelineRow, now: Date): TimelineEntry {
  const { kind, at, actor, details } = row;
  return {
    what: isRefundForMerchant(order, row)
      ? 'An operator started the refund for the merchant'
      : STEP_LABELS[kind],
    at,
    by: actor !== null && `by ${whoOf(actor)}`,
    details,
    more: webhookLine(order, row, now),
  };
}

/** The actor as the merchant may read it: a user or key of the merchant, but no operator's name. */
function whoOf(actor: string): string {
  const [kind = '', ...rest] = actor.split(':');
  const name = rest.join(':');
  switch (kind) {
    case 'merchant':
      return name;
    case 'key':
      return `API key …${name.slice(-4)}`;
    case 'buyer':
      return 'the buyer';
    case 'gateway':
      return 'the payment gateway';
    default:
      return 'an operator';
  }
}

function webhookLine({ environment }: OrderRow, row: TimelineRow, now: Date) {
  const { deliveryId, state, attempts, nextAttemptAt } = row;
  if (row.eventId === null) return null;
  if (deliveryId === null || state === null) {
    return hint('No webhook: there was no webhook URL.');
  }
  const to = pathOf({ environment }, `/deliveries/${encodeURIComponent(deliveryId)}`);
  return hint(
    link(to, `Webhook ${row.kind}`),
    ' ',
    deliveryState(state),
    ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
    state === 'PENDING' && nextAttemptAt && [', next ', moment(nextAttemptAt, now)],
  );
}

const OPERATIONS = {
  capture: 'Paid by the buyer',
  release: 'Released to you',
  refund: 'Refunded to the buyer',
  refund_failed: 'The refund failed, held again',
  reversal: 'Taken back at the gateway',
  loss: 'Taken back at the gateway, paid by the platform',
  recovered: 'Taken back at the gateway before',
  covered: 'Held again, because it had been sent before',
} as const satisfies Record<RunningLine['operation'], string>;

/** The ledger's lines of one order, with the balances after each; null if no money has moved. */
export function ledgerSection(lines: readonly RunningLine[], now: Date) {
  if (lines.length === 0) return null;
  const hasSurplus = lines.some(({ surplusPaise }) => surplusPaise !== 0);
  return section(
    'ledger',
    'Ledger',
    dataTable({
      caption: "The ledger's lines, oldest first, with the balances after each",
      empty: 'No money has moved.',
      rows: lines,
      columns: {
        At: (line: RunningLine) => shortMoment(line.at, now),
        Line: ({ operation }) => OPERATIONS[operation],
        Amount: { isNumber: true, cell: (line) => money(line.amountPaise) },
        Held: { isNumber: true, cell: (line) => money(line.heldPaise) },
        Released: { isNumber: true, cell: (line) => money(line.releasedPaise) },
        Refunded: { isNumber: true, cell: (line) => money(line.refundedPaise) },
        ...(hasSurplus && {
          Surplus: { isNumber: true, cell: (line: RunningLine) => money(line.surplusPaise) },
        }),
      },
    }),
  );
}
