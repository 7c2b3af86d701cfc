import { h } from 'preact';
import type { OrderRow, TimelineRow } from '../../orders/public.ts';
import { isRefundForMerchant } from '../../orders/public.ts';
import { deliveryState, moment, section, written } from '../view/parts.ts';
import { link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';

const LABELS = {
  ORDER_CREATED: 'Created',
  PAYMENT_SUCCESS: 'Paid',
  PAYMENT_FAILED: 'A payment failed',
  DELIVERY_CONFIRMED: 'Delivered',
  DISPUTE_RAISED: 'The buyer raised a dispute',
  DISPUTE_RESOLVED: 'The dispute was resolved',
  ORDER_COMPLETED: 'Completed',
  REFUND_PROCESSED: 'Refunded',
  ORDER_CANCELLED: 'Cancelled',
  EVIDENCE_SUBMITTED: 'Evidence submitted',
  CLOSING_PAYMENT: 'The payment session is being closed',
  PAYMENT_STILL_OPEN: 'The payment session could not be closed',
  RELEASE_STARTED: 'The release started',
  REFUND_STARTED: 'The refund started',
  DEADLINE_EXTENDED: 'The deadline was handled late, and extended by an hour',
  CLOCK_ADVANCED: 'The clock was moved',
  SURPLUS_REFUND_STARTED: 'The refund of a surplus payment started',
  SURPLUS_REFUNDED: 'A surplus payment was refunded',
  REFUND_FAILED: 'The refund failed at the bank: it is made again',
  REFUNDED_AGAIN: 'Refunded again',
  REFUNDED_AT_GATEWAY: 'Refunded at the gateway',
  CHARGEBACK_OPENED: "The buyer's bank opened a chargeback",
  CHARGEBACK_WON: 'The chargeback was won',
  CHARGEBACK_LOST: 'The chargeback was lost',
  ORDER_ERASED: "The buyer's data was erased",
} as const satisfies Record<TimelineRow['kind'], string>;

/** A long order has thousands of entries, such as failed payments. */
const MOST_SHOWN = 50;

/** What happened to an order, the latest first, with the state of each webhook. */
export function timelineSection(order: OrderRow, rows: readonly TimelineRow[], now: Date) {
  const shown = rows.slice(-MOST_SHOWN).toReversed();
  const left = rows.length - shown.length;
  return section(
    'timeline',
    'Timeline',
    h('ol', { class: 'timeline' }, ...shown.map((row) => entry(order, row, now))),
    left > 0 && h('p', { class: 'hint' }, `${left} earlier entries are in the API's timeline.`),
  );
}

function entry(order: OrderRow, row: TimelineRow, now: Date) {
  const label = isRefundForMerchant(order, row)
    ? 'An operator started the refund for the merchant'
    : LABELS[row.kind];
  return h(
    'li',
    null,
    h('p', null, h('strong', null, label), ' ', moment(row.at, now)),
    row.actor !== null && h('p', { class: 'hint' }, `by ${whoOf(row.actor)}`),
    ...Object.entries(row.details ?? {}).map(([name, value]) => detail(name, value)),
    webhookLine(order, row, now),
  );
}

/** Who did it, as the merchant may read it: a user or key of the merchant, but no operator's name. */
function whoOf(actor: string): string {
  const [kind = '', ...rest] = actor.split(':');
  const name = rest.join(':');
  switch (kind) {
    case 'merchant':
      return name;
    case 'key':
      return `API key ${name}`;
    case 'buyer':
      return 'the buyer';
    case 'gateway':
      return 'the payment gateway';
    default:
      return 'an operator';
  }
}

/** Words that are written otherwise than their names in the timeline of the API. */
const NAMES: Readonly<Record<string, string>> = { utr: 'UTR', gatewayPaymentId: 'Payment id' };

/** Longer texts, and those with line breaks, are of people. */
const MOST_IN_LINE = 60;

function detail(name: string, value: string | number | boolean | null) {
  if (value === null || value === '') return null;
  const words = name
    .replaceAll(/([A-Z])/g, ' $1')
    .replaceAll('_', ' ')
    .toLowerCase();
  const label = NAMES[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
  const text = String(value);
  const isShort = text.length <= MOST_IN_LINE && !text.includes('\n');
  return isShort
    ? h('p', null, h('span', { class: 'hint' }, `${label}: `), h('bdi', null, text))
    : h('div', null, h('p', { class: 'hint' }, label), written(text));
}

function webhookLine({ environment }: OrderRow, row: TimelineRow, now: Date) {
  const { deliveryId, state, attempts, nextAttemptAt } = row;
  if (row.eventId === null) return null;
  if (deliveryId === null || state === null) {
    return h('p', { class: 'hint' }, 'No webhook: there was no webhook URL.');
  }
  const to = pathOf({ environment }, `/deliveries/${encodeURIComponent(deliveryId)}`);
  return h(
    'p',
    null,
    link(to, `Webhook ${row.kind}`),
    ' ',
    deliveryState(state),
    ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
    state === 'PENDING' && nextAttemptAt && [', next ', moment(nextAttemptAt, now)],
  );
}
