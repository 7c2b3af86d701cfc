import { h } from 'preact';
import type { RefundReason } from '../../domain/index.ts';
import { timeText } from '../../pages/format.ts';
import type { Checkout, CheckoutStep } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import type { Texts } from '../texts/en.ts';

/** The steps still to come in each state, the next first. */
const UPCOMING: Partial<Record<CheckoutState, readonly (keyof Texts['progress']['upcoming'])[]>> = {
  paid: ['delivery', 'completion'],
  delivered: ['completion'],
  releasing: ['completion'],
  disputed: ['decision'],
  refunding: ['refund'],
};

/** The recorded steps since the payment and the steps still to come. Null before the payment. */
export function progressSection(state: CheckoutState, { steps, order }: Checkout, texts: Texts) {
  if (steps.length === 0) return null;
  const { title, upcoming } = texts.progress;
  return h(
    'section',
    { 'aria-labelledby': 'progress' },
    h('h2', { id: 'progress' }, title),
    h(
      'ol',
      { class: 'progress' },
      ...steps.map((step) => doneStep(step, order.refundReason, texts)),
      ...(UPCOMING[state] ?? []).map((next, index) =>
        h('li', index === 0 ? { 'aria-current': 'step' } : null, upcoming[next]),
      ),
    ),
  );
}

function doneStep(
  { kind, at, trackingId, isForMerchant, decidedFor }: CheckoutStep,
  refundReason: RefundReason | null,
  { progress, language }: Texts,
) {
  const isDecided = kind === 'DISPUTE_RESOLVED' && decidedFor === 'merchant';
  return h(
    'li',
    { class: 'done' },
    isDecided ? progress.decidedForMerchant : progress.steps[kind],
    h('time', { datetime: at }, timeText(new Date(at), language)),
    kind === 'REFUND_STARTED' &&
      refundReason &&
      h('span', null, progress.refundReasons[refundReason]),
    isForMerchant && h('span', null, progress.forMerchant),
    trackingId !== null && h('span', null, progress.trackingId, h('bdi', null, trackingId)),
  );
}
