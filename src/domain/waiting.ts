import type {
  Deadline,
  OperatorReview,
  OrderStatus,
  OrderTerms,
  PendingOperation,
} from './order.ts';
import type { Sentence } from './sentence.ts';
import { durationText, sentence } from './sentence.ts';

export interface WaitingOrder {
  terms: OrderTerms;
  amountPaise: number;
  paymentLinkExpiresAt: Date;
  completesAt: Date | null;
  disputeRespondBy: Date | null;
  refundAmountPaise: number | null;
  refundProcessedAt: Date | null;
  cancelledBy: 'merchant' | 'expiry' | null;
  updatedAt: Date;
}

/**
 * A recorded capture that its order has not applied. `reported`: only a callback names it. `confirmed`: it makes the
 * order PAID. `looked_at`: it is in another currency or was refunded in part, so an operator decides about it.
 */
export type UnappliedCapture = 'reported' | 'confirmed' | 'looked_at';

/** The facts besides the order that decide the merchant's sentence. */
export interface MerchantCircumstances {
  /** The database's clock, which decides deadlines. */
  now: Date;
  /** While the merchant is suspended, nothing is released. */
  isSuspended: boolean;
  /** A capture that the order has not applied. */
  unapplied?: UnappliedCapture | null;
}

/** The sentences about what an order waits for, by reader. */
interface Waiting {
  /** For operators, in the Temporal UI and in `admin order show`. */
  operator: string;
  /** For the merchant, in the dashboard: what the order waits for, until when, and what follows. */
  merchant: (order: WaitingOrder, circumstances: MerchantCircumstances) => Sentence;
}

/**
 * What an order waits for in each status, and while an operation is pending at the gateway. `client` is the text for
 * clients of the API about an operation, in the timeline and in refusals.
 */
export const WAITING = {
  ACCEPTED: {
    operator: "Waiting for the buyer's payment.",
    merchant: acceptedSentence,
  },
  PAID: {
    operator: 'Paid, the money is held. Waiting for the merchant to mark the order delivered.',
    merchant: (order) =>
      sentence`Paid: ${amountOf(order)} is held. Waiting for you to mark the order delivered, without a deadline. The buyer then has ${durationText(order.terms.completionWindowMs)} to raise a dispute, before the money is released to you.`,
  },
  DELIVERED: {
    operator: 'Delivered. The funds are released to the merchant unless the buyer disputes.',
    merchant: deliveredSentence,
  },
  DISPUTE_OPEN: {
    operator: "The buyer disputes the order. Waiting for the merchant's evidence or resolution.",
    merchant: (order) =>
      sentence`The buyer disputes this order. Waiting for your evidence or a resolution. Without a resolution by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  },
  DISPUTE_UNDER_REVIEW: {
    operator: "Evidence is in. Waiting for an operator's decision or a resolution.",
    merchant: (order) =>
      sentence`Your evidence is under review. If the dispute is neither decided nor resolved by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  },
  reviewedWithoutEvidence: {
    operator: "The buyer disputes the order again. Waiting for an operator's decision or evidence.",
    merchant: (order) =>
      sentence`The buyer disputes this order again, and an operator decides. You can submit evidence once, or accept the dispute. Without a decision by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  },
  reviewedWithEvidence: {
    operator: "Evidence is in. Waiting for an operator's decision.",
    merchant: (order) =>
      sentence`Your evidence is under review, and an operator decides. Without a decision by ${answerEndOf(order)}, ${amountOf(order)} is refunded to the buyer.`,
  },
  COMPLETED: {
    operator: 'Completed: the funds are released to the merchant.',
    merchant: (order) =>
      sentence`Completed. ${amountOf(order)} is released to you. Nothing follows.`,
  },
  REFUNDED: {
    operator: 'Refunded: the money is back with the buyer.',
    merchant: (order) =>
      order.refundProcessedAt
        ? sentence`Refunded. ${amountOf(order)} is back with the buyer. Nothing follows.`
        : sentence`Refunded, but the buyer's bank has returned ${refundOf(order)}: it is sent again. Nothing is asked of you.`,
  },
  CANCELLED: {
    operator: 'Cancelled before it was paid.',
    merchant: cancelledSentence,
  },

  closing: {
    client: 'the payment session is being closed',
    operator: 'Asking the gateway to close the open payment session, to cancel the order.',
    merchant: (order) =>
      sentence`The payment session is being closed at the gateway. The order is then cancelled, unless the buyer has just paid ${amountOf(order)}.`,
  },
  releasing: {
    client: 'the funds are being released to the merchant',
    operator: 'Releasing the funds to the merchant at the gateway.',
    merchant: (order) =>
      sentence`${amountOf(order)} is being released to you at the gateway since ${{ at: order.updatedAt }}. The order completes when the gateway has released it.`,
  },
  refunding: {
    client: 'the buyer is being refunded',
    operator: 'Refunding the buyer at the gateway.',
    merchant: (order) =>
      sentence`${amountOf(order)} is being refunded at the gateway since ${{ at: order.updatedAt }}. The order ends when the buyer has been refunded.`,
  },
} as const satisfies Record<OrderStatus | OperatorReview, Waiting> &
  Record<PendingOperation['kind'], Waiting & { client: string }>;

/** The text for clients of the API about a capture that its order has not applied. It follows "; ". */
export const UNAPPLIED = {
  reported: 'its payment is being confirmed',
  confirmed: 'its payment is being confirmed',
  looked_at: 'its payment is being looked at',
} as const satisfies Record<UnappliedCapture, string>;

/** What each deadline does when it passes. */
export const AT_DEADLINE = {
  payment_link: {
    client: 'the payment link expires; the order is cancelled',
    operator: 'the payment link expires and the order is cancelled',
  },
  completion: {
    client: 'the order is completed and the funds are released',
    operator: 'the dispute window ends and the funds are released',
  },
  dispute_answer: {
    client: 'the dispute is unresolved; the buyer is refunded',
    operator: 'the dispute counts as unresolved and the buyer is refunded',
  },
} as const satisfies Record<Deadline['kind'], { client: string; operator: string }>;

/** The merchant's sentence while a dispute is received but is not yet a step of the order. */
export const DISPUTE_RECEIVED: Sentence = [
  'The buyer has raised a dispute. It is being recorded; then the order waits for your answer.',
];

const amountOf = ({ amountPaise }: WaitingOrder) => ({ amountPaise });
const refundOf = ({ refundAmountPaise, amountPaise }: WaitingOrder) => ({
  amountPaise: refundAmountPaise ?? amountPaise,
});
const linkEndOf = (order: WaitingOrder) => ({ at: order.paymentLinkExpiresAt });
// The column has a value in the status with this deadline.
const completionOf = (order: WaitingOrder) => ({ at: order.completesAt ?? order.updatedAt });
const answerEndOf = (order: WaitingOrder) => ({ at: order.disputeRespondBy ?? order.updatedAt });

function deliveredSentence(
  order: WaitingOrder,
  { now, isSuspended }: MerchantCircumstances,
): Sentence {
  const completion = completionOf(order);
  if (isSuspended) {
    return sentence`Delivered, but nothing of ${amountOf(order)} is released to you while your account is suspended. Disputes end as usual.`;
  }
  return completion.at <= now
    ? sentence`Delivered. The time for a dispute ended at ${completion}; the release to you has not begun yet.`
    : sentence`Delivered. If the buyer raises no dispute by ${completion}, it completes and ${amountOf(order)} is released to you.`;
}

function acceptedSentence(order: WaitingOrder, { unapplied }: MerchantCircumstances): Sentence {
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

function cancelledSentence(order: WaitingOrder, { unapplied }: MerchantCircumstances): Sentence {
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
