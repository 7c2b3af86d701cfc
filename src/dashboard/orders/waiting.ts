import type { Phase, UnappliedCapture } from '../../domain/index.ts';
import { phaseOf, STATUSES } from '../../domain/index.ts';
import type { OrderRow } from '../../orders/public.ts';

/** A part of a sentence: a text, or a value that each page formats itself. */
export type SentencePart = string | { readonly at: Date } | { readonly amountPaise: number };
type Sentence = readonly SentencePart[];

/** Tags a template. Its texts and its values become the parts of a sentence. */
function sentence(texts: TemplateStringsArray, ...values: readonly SentencePart[]): Sentence {
  return texts.flatMap((text, index) => [text, values[index] ?? '']);
}

const UNITS = [
  { unit: 'day', ms: 86_400_000 },
  { unit: 'hour', ms: 3_600_000 },
  { unit: 'minute', ms: 60_000 },
  { unit: 'second', ms: 1000 },
] as const;

/** "24 hours", in the largest unit of which there are at least two. */
function durationText(durationMs: number): string {
  const { unit, ms } = UNITS.find((one) => durationMs >= 2 * one.ms) ?? UNITS[3];
  const count = Math.round(durationMs / ms);
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}

/** The facts besides the order that decide its merchant's sentence. */
export interface MerchantCircumstances {
  /** The database's clock, which decides deadlines. */
  now: Date;
  /** While the merchant is suspended, nothing is released. */
  isSuspended: boolean;
  /** A capture that the order has not applied. */
  unapplied?: UnappliedCapture | null;
}

const WAITING = {
  ACCEPTED: acceptedSentence,
  PAID: (order) =>
    sentence`Paid: ${amountOf(order)} is held. Waiting for you to mark the order delivered, without a deadline. The buyer then has ${durationText(order.terms.completionWindowMs)} to raise a dispute, before the money is released to you.`,
  DELIVERED: deliveredSentence,
  DISPUTE_OPEN: (order) =>
    sentence`The buyer disputes this order. Waiting for your evidence or a resolution. Without a resolution by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  DISPUTE_UNDER_REVIEW: (order) =>
    sentence`Your evidence is under review. If the dispute is neither decided nor resolved by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  reviewedWithoutEvidence: (order) =>
    sentence`The buyer disputes this order again, and an operator decides. You can submit evidence once, or accept the dispute. Without a decision by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  reviewedWithEvidence: (order) =>
    sentence`Your evidence is under review, and an operator decides. Without a decision by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  COMPLETED: (order) =>
    sentence`Completed. ${amountOf(order)} is released to you. Nothing follows.`,
  REFUNDED: (order) =>
    order.refundProcessedAt
      ? sentence`Refunded. ${amountOf(order)} is back with the buyer. Nothing follows.`
      : sentence`Refunded, but the buyer's bank has returned ${refundOf(order)}: it is sent again. Nothing is asked of you.`,
  CANCELLED: cancelledSentence,
  closing: (order) =>
    sentence`The payment session is being closed at the gateway. The order is then cancelled, unless the buyer has just paid ${amountOf(order)}.`,
  releasing: (order) =>
    sentence`${amountOf(order)} is being released to you at the gateway since ${{ at: order.updatedAt }}. The order completes when the gateway has released it.`,
  refunding: (order) =>
    sentence`${amountOf(order)} is being refunded at the gateway since ${{ at: order.updatedAt }}. The order ends when the buyer has been refunded.`,
} as const satisfies Record<
  Phase,
  (order: OrderRow, circumstances: MerchantCircumstances) => Sentence
>;

/** While a dispute is received but is not yet a step of the order. */
const DISPUTE_RECEIVED: Sentence = [
  'The buyer has raised a dispute. It is being recorded; then the order waits for your answer.',
];

/** What an order waits for, until when, and what follows, as its merchant reads it. */
export function merchantSentence(order: OrderRow, circumstances: MerchantCircumstances): Sentence {
  const { pendingOperation, waitingDisputeId, status } = order;
  const isReceived = waitingDisputeId !== null && STATUSES[status].funds === 'held';
  if (isReceived && !pendingOperation) return DISPUTE_RECEIVED;
  return WAITING[phaseOf(order)](order, circumstances);
}

const amountOf = ({ amountPaise }: OrderRow) => ({ amountPaise });
const refundOf = ({ refundAmountPaise, amountPaise }: OrderRow) => ({
  amountPaise: refundAmountPaise ?? amountPaise,
});
const linkEndOf = (order: OrderRow) => ({ at: order.paymentLinkExpiresAt });
// Set in the status with this deadline; the fallback only satisfies the type.
const completionOf = (order: OrderRow) => ({ at: order.completesAt ?? order.updatedAt });
const answerEndOf = (order: OrderRow) => ({ at: order.disputeRespondBy ?? order.updatedAt });

function deliveredSentence(order: OrderRow, { now, isSuspended }: MerchantCircumstances): Sentence {
  const completion = completionOf(order);
  if (isSuspended) {
    return sentence`Delivered, but nothing of ${amountOf(order)} is released to you while your account is suspended. Disputes end as usual.`;
  }
  return completion.at <= now
    ? sentence`Delivered. The time for a dispute ended at ${completion}; the release to you has not begun yet.`
    : sentence`Delivered. If the buyer raises no dispute by ${completion}, it completes and ${amountOf(order)} is released to you.`;
}

function acceptedSentence(order: OrderRow, { unapplied }: MerchantCircumstances): Sentence {
  switch (unapplied) {
    case 'looked_at':
      return [IS_LOOKED_AT, ' The order takes no other payment meanwhile. Do not deliver it.'];
    case 'reported':
    case 'confirmed':
      return sentence`A payment of ${amountOf(order)} was reported and is being confirmed. The order takes no other payment meanwhile. Do not deliver it before it is paid.`;
    default:
      return sentence`Waiting for the buyer to pay ${amountOf(order)}. If the buyer has not paid by ${linkEndOf(order)}, the payment link expires and the order is cancelled.`;
  }
}

const IS_LOOKED_AT =
  'A payment of the buyer is in another currency, or was refunded in part: we look at it.';

function cancelledSentence(order: OrderRow, { unapplied }: MerchantCircumstances): Sentence {
  const cause =
    order.cancelledBy === 'expiry'
      ? 'Cancelled: the payment link expired before the buyer paid.'
      : 'Cancelled before the buyer paid.';
  if (unapplied === 'looked_at') return [cause, ' ', IS_LOOKED_AT];
  if (order.refundAmountPaise === null) return [cause, ' Nothing follows.'];
  return order.refundProcessedAt
    ? sentence`${cause} ${refundOf(order)} of the buyer was refunded, because the order could not take the payment. Nothing follows.`
    : sentence`${cause} ${refundOf(order)} of the buyer is being refunded, because the order could not take the payment.`;
}
