import type { Busy, Deadline, OrderState, OrderStatus } from '../src/domain/index.ts';

/** Each status in words, with what it waits for; `admin order show` says it too. */
export const WAITING_FOR = {
  ACCEPTED: "Waiting for the buyer's payment.",
  PAID: 'Paid, the money is held. Waiting for the merchant to mark the order delivered.',
  DELIVERED: 'Delivered. The funds are released to the merchant unless the buyer disputes.',
  DISPUTE_OPEN: "The buyer disputes the order. Waiting for the merchant's evidence or resolution.",
  DISPUTE_UNDER_REVIEW: "Evidence is in. Waiting for an operator's decision or a resolution.",
  COMPLETED: 'Completed: the funds are released to the merchant.',
  REFUNDED: 'Refunded: the money is back with the buyer.',
  CANCELLED: 'Cancelled before it was paid.',
} as const satisfies Record<OrderStatus, string>;

const DOING = {
  closing: 'Asking the gateway to close the open payment session, to cancel the order.',
  releasing: 'Releasing the funds to the merchant at the gateway.',
  refunding: 'Refunding the buyer at the gateway.',
} as const satisfies Record<Busy['kind'], string>;

const AT_DEADLINE = {
  payment_link: 'the payment link expires and the order is cancelled',
  completion: 'the dispute window ends and the funds are released',
  dispute_answer: 'the dispute counts as unresolved and the buyer is refunded',
} as const satisfies Record<Deadline['kind'], string>;

/** What the order waits for and until when, in Markdown, for an operator in the Temporal UI. */
export function currentDetails(state: OrderState): string {
  const { status, busy, deadline, disputeCount } = state;
  const lines = [`**${status}** · ${busy ? DOING[busy.kind] : WAITING_FOR[status]}`];
  if (deadline && !busy) {
    lines.push(`At **${new Date(deadline.atMs).toISOString()}** ${AT_DEADLINE[deadline.kind]}.`);
  }
  if (disputeCount > 0) lines.push(`Disputes so far: ${disputeCount}.`);
  return lines.join('\n\n');
}

/** One line for the timer in the event history. */
export function deadlineSummary({ kind }: Deadline): string {
  return `Until ${AT_DEADLINE[kind]}`;
}
