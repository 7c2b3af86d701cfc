/** Who may move real money: sandbox keys never do. */
export type Environment = 'sandbox' | 'production';

/** Every status an order can show; DISPUTE_* is the specification's family of two. */
export const ORDER_STATUSES = [
  'ACCEPTED',
  'PAID',
  'DELIVERED',
  'DISPUTE_OPEN',
  'DISPUTE_UNDER_REVIEW',
  'COMPLETED',
  'REFUNDED',
  'CANCELLED',
] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Whose the buyer's money is: nobody has paid yet, held for the merchant, or gone its way. */
export type Funds = 'none' | 'held' | 'released' | 'refunded';

/**
 * What each status says about an order: where its money is, and which deadline runs. Every list of
 * statuses is derived from this table or from the lifecycle's.
 */
export const STATUSES = {
  ACCEPTED: { funds: 'none', deadline: 'payment_link' },
  PAID: { funds: 'held', deadline: null },
  DELIVERED: { funds: 'held', deadline: 'completion' },
  DISPUTE_OPEN: { funds: 'held', deadline: 'dispute_answer' },
  DISPUTE_UNDER_REVIEW: { funds: 'held', deadline: 'dispute_answer' },
  COMPLETED: { funds: 'released', deadline: null },
  REFUNDED: { funds: 'refunded', deadline: null },
  CANCELLED: { funds: 'none', deadline: null },
} as const satisfies Record<OrderStatus, { funds: Funds; deadline: Deadline['kind'] | null }>;

/** The statuses in which an order's money is held for its merchant. */
export const HOLDING_STATUSES = ORDER_STATUSES.filter(
  (status) => STATUSES[status].funds === 'held',
);

/** The statuses of an order that was paid, wherever the money is now. */
export const PAID_STATUSES = ORDER_STATUSES.filter((status) => STATUSES[status].funds !== 'none');

export type DisputeStatus = {
  [Status in OrderStatus]: (typeof STATUSES)[Status]['deadline'] extends 'dispute_answer'
    ? Status
    : never;
}[OrderStatus];

/** True while a dispute waits to be answered or decided. */
export function isDisputed(status: OrderStatus): status is DisputeStatus {
  return STATUSES[status].deadline === 'dispute_answer';
}
export const DISPUTE_STATUSES = ORDER_STATUSES.filter(isDisputed);

/** The nine webhook events of the specification, in its order. */
export const EVENT_TYPES = [
  'ORDER_CREATED',
  'PAYMENT_SUCCESS',
  'PAYMENT_FAILED',
  'DELIVERY_CONFIRMED',
  'DISPUTE_RAISED',
  'DISPUTE_RESOLVED',
  'ORDER_COMPLETED',
  'REFUND_PROCESSED',
  'ORDER_CANCELLED',
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** Why an order's money goes back to its buyer; merchants see it as `refund.reason`. */
export type RefundReason =
  | 'merchant_refund'
  | 'dispute_not_resolved_in_time'
  | 'dispute_accepted'
  | 'dispute_decided_for_buyer'
  /** An operator ended the order, whose money had gone back another way. */
  | 'settled_by_operator';

/**
 * What an order is doing between two statuses. The status shown stays the old one meanwhile.
 * `closing`: the gateway is asked to close the open payment session before the order is cancelled.
 * `releasing` and `refunding`: the gateway is moving the money.
 */
export type Busy =
  | { kind: 'closing'; because: 'cancel' | 'expiry' }
  | { kind: 'releasing' }
  | { kind: 'refunding'; reason: RefundReason };

/** The moment at which something happens by itself. Absolute, so the sandbox clock can move it. */
export interface Deadline {
  kind: 'payment_link' | 'completion' | 'dispute_answer';
  atMs: number;
}

/** How long the deadlines of one order run; fixed when the order is created. */
export interface OrderTerms {
  environment: Environment;
  completionWindowMs: number;
  disputeAnswerMs: number;
}

/** Everything the lifecycle of one order depends on. JSON, and nothing personal. */
export interface OrderState {
  terms: OrderTerms;
  status: OrderStatus;
  busy: Busy | null;
  deadline: Deadline | null;
  disputeCount: number;
  /** Steps recorded so far: 1 is the creation. */
  stepNumber: number;
  /** Webhook events so far: `sequence` of the latest one. */
  eventSequence: number;
}

/** What happened, as the timeline names it. */
export const STEP_KINDS = [
  'ORDER_CREATED',
  'PAYMENT_SUCCESS',
  'PAYMENT_FAILED',
  'DELIVERY_CONFIRMED',
  'DISPUTE_RAISED',
  'DISPUTE_RESOLVED',
  'ORDER_COMPLETED',
  'REFUND_PROCESSED',
  'ORDER_CANCELLED',
  'EVIDENCE_SUBMITTED',
  'CLOSING_PAYMENT',
  'PAYMENT_STILL_OPEN',
  'RELEASE_STARTED',
  'REFUND_STARTED',
  'CLOCK_ADVANCED',
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** What a step says beyond its kind. It passes through Temporal, so it holds nothing personal. */
export interface StepDetails {
  /** Of CLOCK_ADVANCED: by how much. */
  seconds?: number;
  /** Of ORDER_CANCELLED: the merchant, or the payment link's expiry. */
  by?: 'merchant' | 'expiry';
  /** Of a dispute that an operator decided: who was right. */
  for?: 'merchant' | 'buyer';
}

/** One recorded change: the order as it is after it, and the webhook event it causes, if any. */
export interface Step {
  number: number;
  kind: StepKind;
  atMs: number;
  status: OrderStatus;
  busy: Busy | null;
  deadline: Deadline | null;
  disputeCount: number;
  event: { type: EventType; sequence: number } | null;
  details: StepDetails | null;
}
