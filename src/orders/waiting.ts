import type { Deadline, OrderStatus, PendingOperation } from '../domain/index.ts';
import { DOING, STATUSES } from '../domain/index.ts';
import type { OrderRow } from './rows.ts';

/** A part of a sentence: a text, or a value that each reader writes in its own form. */
export type SentencePart = string | { readonly at: Date } | { readonly amountPaise: number };

/** What an order waits for, as its merchant reads it. */
export interface Waiting {
  /** Until when; null without a deadline. */
  until: Date | null;
  /** What it waits for, until when, and what follows. */
  sentence: readonly SentencePart[];
}

/** What decides the sentence beside the order itself. */
export interface Circumstances {
  /** The database's clock, by which deadlines are decided. */
  now: Date;
  /** The merchant is suspended: nothing is released meanwhile. */
  isSuspended: boolean;
}

/** A status, an operation at the gateway, or a dispute that the order is about to record. */
type Phase = OrderStatus | PendingOperation['kind'] | 'dispute_received';

/** The column and the effect of each deadline. */
const DEADLINES = {
  payment_link: {
    column: 'paymentLinkExpiresAt',
    action: 'the payment link expires; the order is cancelled',
  },
  completion: {
    column: 'completesAt',
    action: 'the order is completed and the funds are released',
  },
  dispute_answer: {
    column: 'disputeRespondBy',
    action: 'the dispute is unresolved; the buyer is refunded',
  },
} as const satisfies Record<Deadline['kind'], { column: keyof OrderRow; action: string }>;

/** The next deadline of an order and the action that it causes, or its operation at the gateway. */
export function nextActionOf(order: OrderRow): { at: Date; action: string } | null {
  const { pendingOperation, status, updatedAt } = order;
  if (pendingOperation) return { at: updatedAt, action: DOING[pendingOperation.kind] };
  const { deadline } = STATUSES[status];
  if (deadline === null) return null;
  const { column, action } = DEADLINES[deadline];
  const at = order[column];
  return at && { at, action };
}

/** The data and the sentence of what an order waits for. */
export function waitingOf(order: OrderRow, circumstances: Circumstances): Waiting {
  const until = order.pendingOperation ? null : (nextActionOf(order)?.at ?? null);
  return { until, sentence: SENTENCES[phaseOf(order)](order, until, circumstances) };
}

function phaseOf({ pendingOperation, waitingDisputeId, status }: OrderRow): Phase {
  if (pendingOperation) return pendingOperation.kind;
  const isReceived = waitingDisputeId !== null && STATUSES[status].funds === 'held';
  return isReceived ? 'dispute_received' : status;
}

type Sentence = (
  order: OrderRow,
  until: Date | null,
  circumstances: Circumstances,
) => readonly SentencePart[];

const amountOf = ({ amountPaise }: OrderRow) => ({ amountPaise });

/** Each phase says what the order waits for, until when, and what follows. */
const SENTENCES: Record<Phase, Sentence> = {
  ACCEPTED: (order, until) => [
    'Waiting for the buyer to pay ',
    amountOf(order),
    '. If the buyer has not paid by ',
    { at: until ?? order.paymentLinkExpiresAt },
    ', the payment link expires and the order is cancelled.',
  ],
  PAID: (order) => [
    'Paid: ',
    amountOf(order),
    ' is held. Waiting for you to mark the order delivered, without a deadline. The buyer then has ',
    durationText(order.terms.completionWindowMs),
    ' to raise a dispute, before the money is released to you.',
  ],
  DELIVERED: deliveredSentence,
  DISPUTE_OPEN: (order, until) => [
    'The buyer disputes this order. Waiting for your evidence or a resolution. Without a resolution by ',
    { at: until ?? order.updatedAt },
    ', ',
    amountOf(order),
    ' is refunded to the buyer.',
  ],
  DISPUTE_UNDER_REVIEW: (order, until) => [
    'Your evidence is under review. If the dispute is neither decided nor resolved by ',
    { at: until ?? order.updatedAt },
    ', ',
    amountOf(order),
    ' is refunded to the buyer.',
  ],
  COMPLETED: (order) => ['Completed. ', amountOf(order), ' is released to you. Nothing follows.'],
  REFUNDED: (order) => ['Refunded. ', amountOf(order), ' is back with the buyer. Nothing follows.'],
  CANCELLED: cancelledSentence,
  closing: (order) => [
    'The payment session is being closed at the gateway. The order is then cancelled, unless the buyer has just paid ',
    amountOf(order),
    '.',
  ],
  releasing: (order) => [
    amountOf(order),
    ' is being released to you at the gateway since ',
    { at: order.updatedAt },
    '. The order completes when the gateway has released it.',
  ],
  refunding: (order) => [
    amountOf(order),
    ' is being refunded at the gateway since ',
    { at: order.updatedAt },
    '. The order ends when the buyer has been refunded.',
  ],
  dispute_received: () => [
    'The buyer has raised a dispute. It is being recorded; then the order waits for your answer.',
  ],
};

function deliveredSentence(
  order: OrderRow,
  until: Date | null,
  { now, isSuspended }: Circumstances,
): readonly SentencePart[] {
  const at = until ?? order.updatedAt;
  if (isSuspended) {
    const released = ' is released to you while your account is suspended. Disputes end as usual.';
    return ['Delivered, but nothing of ', amountOf(order), released];
  }
  if (at <= now) {
    const waiting = '; the release to you has not begun yet.';
    return ['Delivered. The time for a dispute ended at ', { at }, waiting];
  }
  return [
    'Delivered. If the buyer raises no dispute by ',
    { at },
    ', it completes and ',
    amountOf(order),
    ' is released to you.',
  ];
}

function cancelledSentence(order: OrderRow): readonly SentencePart[] {
  const { cancelledBy, refundAmountPaise, refundProcessedAt } = order;
  const cause =
    cancelledBy === 'expiry'
      ? 'Cancelled: the payment link expired before the buyer paid. '
      : 'Cancelled before the buyer paid. ';
  if (refundAmountPaise === null) return [cause, 'Nothing follows.'];
  const refund = refundProcessedAt
    ? ' of the buyer was refunded, because the order could not take the payment. Nothing follows.'
    : ' of the buyer is being refunded, because the order could not take the payment.';
  return [cause, { amountPaise: refundAmountPaise }, refund];
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
