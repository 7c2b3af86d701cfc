/** Only production moves real money. */
export const ENVIRONMENTS = ['sandbox', 'production'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** Every status of an order. Source: the specification's "States and transitions". */
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

/** `none`: the order has not been paid. */
export type Funds = 'none' | 'held' | 'released' | 'refunded';

/**
 * Where the money is and which deadline runs in each status. Every list of statuses is derived from
 * this table or from the lifecycle's.
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

export const PAID_STATUSES = ORDER_STATUSES.filter((status) => STATUSES[status].funds !== 'none');

export type DisputeStatus = {
  [Status in OrderStatus]: (typeof STATUSES)[Status]['deadline'] extends 'dispute_answer'
    ? Status
    : never;
}[OrderStatus];

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

/** Merchants see it as `refund.reason`. */
export type RefundReason =
  | 'merchant_refund'
  | 'dispute_not_resolved_in_time'
  | 'dispute_accepted'
  | 'dispute_decided_for_buyer'
  /** The refund was made outside this service, and an operator has recorded it. */
  | 'settled_by_operator';

/**
 * An operation at the gateway between two statuses; the order keeps the earlier status meanwhile.
 * `closing`: the open payment session is closed before the order is cancelled.
 * `releasing` and `refunding`: the gateway is moving the money.
 */
export type PendingOperation =
  /**
   * `commandId` is the cancel's. The step that begins to close keeps it here and not as its own, so that the step that
   * cancels can record it, by which a repeated cancel is recognised later.
   */
  | { kind: 'closing'; cause: 'cancel' | 'expiry'; commandId?: string | undefined }
  | { kind: 'releasing' }
  | { kind: 'refunding'; reason: RefundReason };

/** The most disputes that a buyer can raise about an order. Operators are not limited. */
export const BUYER_DISPUTES = 5;

/**
 * From this dispute of an order on, an operator decides instead of the merchant. Without this limit, a merchant
 * could pose as the buyer, whose link it knows, and use up the buyer's disputes.
 */
export const OPERATOR_DECIDES_FROM = BUYER_DISPUTES;

/**
 * A dispute that an operator decides is DISPUTE_UNDER_REVIEW from its beginning. This says whether the merchant has
 * submitted evidence. See {@link OPERATOR_DECIDES_FROM}.
 */
export type OperatorReview = 'reviewedWithoutEvidence' | 'reviewedWithEvidence';

export type Phase = OrderStatus | PendingOperation['kind'] | OperatorReview;

/** The fields, of an order's state or its row, that decide its phase. */
export interface PhaseFacts {
  status: OrderStatus;
  pendingOperation: PendingOperation | null;
  operatorReview?: OperatorReview | null | undefined;
}

/** The pending operation of an order, else its operator's review, else its status. */
export function phaseOf({ status, pendingOperation, operatorReview }: PhaseFacts): Phase {
  return pendingOperation?.kind ?? operatorReview ?? status;
}

/** When the order changes without a command. The sandbox clock can move it. */
export interface Deadline {
  kind: 'payment_link' | 'completion' | 'dispute_answer';
  atMs: number;
  /** True if it was first handled late and has been extended. The next time, it takes effect. */
  isExtended?: true;
}

/** How long a deadline that was first handled late is extended, so that people can still act. */
export const EXTENSION_MS = 3_600_000;

/** The durations of one order's deadlines, fixed when it is created. */
export interface OrderTerms {
  environment: Environment;
  completionWindowMs: number;
  disputeAnswerMs: number;
}

/** Everything that decides an order's transitions. It is JSON and contains no personal data. */
export interface OrderState {
  terms: OrderTerms;
  status: OrderStatus;
  pendingOperation: PendingOperation | null;
  deadline: Deadline | null;
  disputeCount: number;
  /** Set while an operator decides the dispute. It follows from the steps. */
  operatorReview?: OperatorReview | undefined;
  /** The number of recorded steps: 1 after the creation. */
  stepNumber: number;
  /** The number of webhook events: the `sequence` of the latest one. */
  eventSequence: number;
}

export const STEP_KINDS = [
  ...EVENT_TYPES,
  'EVIDENCE_SUBMITTED',
  'CLOSING_PAYMENT',
  'PAYMENT_STILL_OPEN',
  'RELEASE_STARTED',
  'REFUND_STARTED',
  'DEADLINE_EXTENDED',
  'CLOCK_ADVANCED',
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** Details of a step. They pass through Temporal, so they contain no personal data. */
export interface StepDetails {
  /** For CLOCK_ADVANCED: how far the deadline was moved. */
  seconds?: number;
  /** For DEADLINE_EXTENDED: the new deadline, in ISO 8601. */
  until?: string;
  /** For ORDER_CANCELLED: the merchant cancelled it, or the payment link expired. */
  by?: 'merchant' | 'expiry';
  /** For a dispute that an operator decided: in whose favour. */
  for?: 'merchant' | 'buyer';
}

/** One recorded transition: the order after it, and its webhook event, if any. */
export interface Step {
  number: number;
  kind: StepKind;
  atMs: number;
  status: OrderStatus;
  pendingOperation: PendingOperation | null;
  deadline: Deadline | null;
  disputeCount: number;
  event: { type: EventType; sequence: number } | null;
  details: StepDetails | null;
}
