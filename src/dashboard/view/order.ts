import type { ComponentChildren } from 'preact';
import { h } from 'preact';
import type { OrderStatus } from '../../domain/index.ts';
import { cursorOf } from '../../http/input/cursor.ts';
import type { TimelinePlace, TimelineRow } from '../../orders/public.ts';
import {
  hint,
  moment,
  money,
  objectHead,
  orderStatus,
  section,
  wordsOf,
  written,
} from './parts.ts';
import { link, pathWith } from './url.ts';

/** The steps in words, by their kind. */
export const STEP_LABELS = {
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

/** Words whose spelling differs from their names in the API's timeline. */
const NAMES: Readonly<Record<string, string>> = { utr: 'UTR', gateway_payment_id: 'Payment id' };

/** Texts that are longer or have line breaks were typed by people. */
const MOST_IN_LINE = 60;

const isId = (name: string) => /(id|utr)$/i.test(name);

export interface TimelineEntry {
  readonly what: string;
  /** Its name in the API. */
  readonly code?: string;
  readonly at: Date;
  readonly by?: ComponentChildren;
  /** Such as the reason of a refund, by their names in the API; empty ones are left out. */
  readonly details?: TimelineRow['details'] | undefined;
  readonly more?: ComponentChildren;
}

/** @param list the list that the page belongs to */
export function orderHead(
  list: { path: string; list: string },
  { kind, name, one }: { kind: string; name: string; one: ComponentChildren },
  order: { description: string; amountPaise: number; status: OrderStatus },
) {
  return objectHead(
    { ...list, one: [one, ' · ', h('bdi', null, order.description)] },
    h('span', { class: 'hidden' }, `${kind} ${name}: `),
    money(order.amountPaise),
    orderStatus(order.status),
  );
}

export function said(who: ComponentChildren, text: string) {
  return h('div', { class: 'said' }, hint(who), written(text));
}

/**
 * What happened to an order, the latest first, with the way to earlier entries.
 *
 * @param entries the oldest first
 * @param path of the page that shows the earlier ones
 */
export function timelineSection(
  entries: readonly TimelineEntry[],
  { path, earlier }: { path: string; earlier: TimelinePlace | null },
  now?: Date,
) {
  const to = earlier && `${pathWith(path, { before: cursorOf(earlier) })}#timeline`;
  return section(
    'timeline',
    'Timeline',
    timeline(entries.toReversed(), now),
    to && h('p', null, link(to, 'Earlier entries')),
  );
}

export function timeline(entries: readonly TimelineEntry[], now = new Date()) {
  return h(
    'ol',
    { class: 'timeline' },
    entries.map(({ what, code, at, by, details, more }, index) =>
      h(
        'li',
        { key: index },
        h('h3', { title: code }, what),
        hint(moment(at, now), by && [' · ', by]),
        Object.entries(details ?? {}).map(([name, value]) => stepDetail(name, value)),
        more,
      ),
    ),
  );
}

function stepDetail(name: string, value: string | number | boolean | null) {
  if (value === null || value === '') return null;
  const label = NAMES[name] ?? wordsOf(name);
  const text = String(value);
  const isShort = text.length <= MOST_IN_LINE && !text.includes('\n');
  return isShort
    ? h(
        'p',
        null,
        h('span', { class: 'hint' }, `${label}: `),
        h(isId(name) ? 'code' : 'bdi', null, text),
      )
    : h('div', null, hint(label), written(text));
}
