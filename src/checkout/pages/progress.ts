import { h } from 'preact';
import { timeText } from '../../pages/format.ts';
import type { Checkout, CheckoutStep, ProgressKind } from '../queries.ts';
import type { CheckoutState } from '../state.ts';

const LABELS = {
  PAYMENT_SUCCESS: 'Paid',
  DELIVERY_CONFIRMED: 'Delivered',
  DISPUTE_RAISED: 'Dispute raised',
  EVIDENCE_SUBMITTED: 'Answer from the merchant',
  DISPUTE_RESOLVED: 'Dispute resolved',
  ORDER_COMPLETED: 'Completed',
  REFUND_STARTED: 'Refund started',
  REFUND_PROCESSED: 'Refunded',
} as const satisfies Record<ProgressKind, string>;

/** The steps still to come, the next first. */
const UPCOMING: Partial<Record<CheckoutState, readonly string[]>> = {
  paid: ['Delivery', 'Completion'],
  delivered: ['Completion'],
  releasing: ['Completion'],
  disputed: ['Decision'],
  refunding: ['Refund'],
};

/** The recorded steps since the payment, and the steps still to come; null before the payment. */
export function progressSection(state: CheckoutState, { steps }: Checkout) {
  if (steps.length === 0) return null;
  return h(
    'section',
    { 'aria-labelledby': 'progress' },
    h('h2', { id: 'progress' }, 'Progress of your order'),
    h(
      'ol',
      { class: 'progress' },
      ...steps.map(doneStep),
      ...(UPCOMING[state] ?? []).map(nextStep),
    ),
  );
}

function doneStep({ kind, at, trackingId, isForMerchant }: CheckoutStep) {
  return h(
    'li',
    { class: 'done' },
    LABELS[kind],
    h('time', { datetime: at }, timeText(new Date(at))),
    isForMerchant && h('span', null, 'By the payment service, for the merchant'),
    trackingId !== null && h('span', null, 'Tracking ID: ', h('bdi', null, trackingId)),
  );
}

function nextStep(label: string, index: number) {
  return h('li', index === 0 ? { 'aria-current': 'step' } : null, label);
}
