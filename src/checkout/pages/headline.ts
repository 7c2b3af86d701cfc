import { rupeesText, timeText } from '../../pages/format.ts';
import type { Checkout } from '../queries.ts';
import type { CheckoutState } from '../state.ts';
import type { HeadlineFacts, HeadlineKind, HeadlineTexts, Texts } from '../texts/en.ts';
import type { Tone } from './layout.ts';

export interface Headline extends HeadlineTexts {
  tone: Tone;
}

const TONES = {
  payable: 'act',
  waiting: 'wait',
  session_expired: 'bad',
  confirming: 'wait',
  reported: 'wait',
  looked_at: 'wait',
  link_expired: 'bad',
  merchant_unavailable: 'bad',
  closing: 'wait',
  paid: 'good',
  delivered: 'good',
  resolved: 'wait',
  resolved_last: 'wait',
  decided: 'wait',
  disputed: 'wait',
  disputed_for_buyer: 'wait',
  reviewed: 'wait',
  under_review: 'wait',
  releasing: 'good',
  completed: 'good',
  refunding: 'wait',
  refunded: 'good',
  refunded_by_transfer: 'good',
  refund_returned: 'wait',
  cancelled: 'bad',
  cancelled_by_expiry: 'bad',
} as const satisfies Record<HeadlineKind, Tone>;

/** The states in which more than the state decides the message. */
const KINDS: Partial<Record<CheckoutState, (checkout: Checkout) => HeadlineKind>> = {
  confirming: ({ unapplied }) => (unapplied === 'reported' ? 'reported' : 'confirming'),
  delivered: deliveredKind,
  disputed: ({ order, disputes }) => {
    if (order.operatorReview === 'reviewedWithoutEvidence') return 'reviewed';
    if (order.status === 'DISPUTE_UNDER_REVIEW') return 'under_review';
    return disputes.at(-1)?.raisedBy === 'buyer' ? 'disputed' : 'disputed_for_buyer';
  },
  refunded: ({ order, settlement }) => {
    if (order.refundProcessedAt === null) return 'refund_returned';
    return settlement?.reference ? 'refunded_by_transfer' : 'refunded';
  },
  cancelled: ({ order }) => (order.cancelledBy === 'expiry' ? 'cancelled_by_expiry' : 'cancelled'),
};

/** An order that had a dispute became DELIVERED when the dispute ended, not when it was delivered. */
function deliveredKind({ disputes, disputeLimit }: Checkout): HeadlineKind {
  const latest = disputes.at(-1);
  if (latest === undefined) return 'delivered';
  if (latest.decision !== null) return 'decided';
  return disputeLimit === null ? 'resolved' : 'resolved_last';
}

export function headlineOf(state: CheckoutState, checkout: Checkout, texts: Texts): Headline {
  const kind = KINDS[state]?.(checkout) ?? state;
  return { tone: TONES[kind], ...texts.headlines[kind](factsOf(checkout, texts)) };
}

function factsOf(
  { order, merchantName, surplus, unapplied }: Checkout,
  texts: Texts,
): HeadlineFacts {
  // The column of a deadline has a value in the states that name it.
  const time = (at: Date | null) => timeText(at ?? order.updatedAt, texts.language);
  return {
    merchant: merchantName,
    amount: rupeesText(order.amountPaise),
    refund: rupeesText(order.refundAmountPaise ?? order.amountPaise),
    payBy: time(order.paymentLinkExpiresAt),
    disputeBy: time(order.completesAt),
    answerBy: time(order.disputeRespondBy),
    hasOtherPayment: surplus.length > 0 || unapplied !== null,
  };
}
