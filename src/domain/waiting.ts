import type { Deadline, PendingOperation, Phase } from './order.ts';

/**
 * A recorded capture that its order has not applied. `reported`: only a callback names it. `confirmed`: it makes the
 * order PAID. `looked_at`: it is in another currency or was refunded in part, so an operator decides about it.
 */
export type UnappliedCapture = 'reported' | 'confirmed' | 'looked_at';

/** What an order waits for, as operators read it in the Temporal UI and in `admin order show`. */
export const WAITING = {
  ACCEPTED: "Waiting for the buyer's payment.",
  PAID: 'Paid, the money is held. Waiting for the merchant to mark the order delivered.',
  DELIVERED: 'Delivered. The funds are released to the merchant unless the buyer disputes.',
  DISPUTE_OPEN: "The buyer disputes the order. Waiting for the merchant's evidence or resolution.",
  DISPUTE_UNDER_REVIEW: "Evidence is in. Waiting for an operator's decision or a resolution.",
  reviewedWithoutEvidence:
    "The buyer disputes the order again. Waiting for an operator's decision or evidence.",
  reviewedWithEvidence: "Evidence is in. Waiting for an operator's decision.",
  COMPLETED: 'Completed: the funds are released to the merchant.',
  REFUNDED: 'Refunded: the money is back with the buyer.',
  CANCELLED: 'Cancelled before it was paid.',
  closing: 'Asking the gateway to close the open payment session, to cancel the order.',
  releasing: 'Releasing the funds to the merchant at the gateway.',
  refunding: 'Refunding the buyer at the gateway.',
} as const satisfies Record<Phase, string>;

/** What is pending at the gateway, as clients of the API read it in the timeline and in refusals. */
export const PENDING_OPERATIONS = {
  closing: 'the payment session is being closed',
  releasing: 'the funds are being released to the merchant',
  refunding: 'the buyer is being refunded',
} as const satisfies Record<PendingOperation['kind'], string>;

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
