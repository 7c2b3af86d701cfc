import { h } from 'preact';
import type { OrderRow, TimelinePart, TimelineRow } from '../../orders/public.ts';
import { isRefundForMerchant } from '../../orders/public.ts';
import { deliveryState, moment, section } from '../view/parts.ts';
import type { TimelineEntry } from '../view/steps.ts';
import { earlierLink, STEP_LABELS, timeline } from '../view/steps.ts';
import { link } from '../view/url.ts';
import { pathOf } from '../viewer.ts';
import { orderPath } from './deps.ts';

/** What happened to an order, the latest first, with the state of each webhook. */
export function timelineSection(order: OrderRow, { rows, earlier }: TimelinePart, now: Date) {
  const entries = rows.toReversed().map((row) => entryOf(order, row, now));
  return section(
    'timeline',
    'Timeline',
    timeline(entries, now),
    earlierLink(orderPath(order), earlier),
  );
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

/** Who did it, as the merchant may read it: a user or key of the merchant, but no operator's name. */
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
    return h('p', { class: 'hint' }, 'No webhook: there was no webhook URL.');
  }
  const to = pathOf({ environment }, `/deliveries/${encodeURIComponent(deliveryId)}`);
  return h(
    'p',
    { class: 'hint' },
    link(to, `Webhook ${row.kind}`),
    ' ',
    deliveryState(state),
    ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`,
    state === 'PENDING' && nextAttemptAt && [', next ', moment(nextAttemptAt, now)],
  );
}
