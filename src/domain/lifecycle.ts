import { DomainError } from './errors.ts';
import type { Busy, OrderState, OrderStatus, StepKind } from './order.ts';
import { ORDER_STATUSES } from './order.ts';

/** What can be asked of an order, or happens to it from outside. */
export type Command =
  | { type: 'pay' }
  | { type: 'failPayment' }
  | { type: 'deliver' }
  | { type: 'cancel' }
  /** The merchant cannot fulfil the order, and gives the whole amount back. */
  | { type: 'refund' }
  /** `receivedAtMs` is the database's time at which our API wrote the dispute down. */
  | { type: 'dispute'; receivedAtMs: number }
  | { type: 'submitEvidence' }
  | { type: 'resolve' }
  | { type: 'accept' }
  | { type: 'decideForMerchant' }
  | { type: 'decideForBuyer' }
  /** The running deadline has passed. */
  | { type: 'expire' }
  /** The sandbox clock: this order's deadline comes nearer. */
  | { type: 'advance'; seconds: number }
  /** The money went another way than by this service; an operator wrote down where it is now. */
  | { type: 'settleReleased' }
  | { type: 'settleRefunded' }
  // What the gateway did about the operation under way.
  | { type: 'sessionClosed' }
  | { type: 'closeFailed' }
  | { type: 'released' }
  | { type: 'refunded' };
export type CommandType = Command['type'];

/** How an operator settles an order: whose the money counts as. */
export type Settlement = 'released' | 'refunded';
/** The command by which an order is settled so. */
export const SETTLE_COMMANDS = {
  released: 'settleReleased',
  refunded: 'settleRefunded',
} as const satisfies Record<Settlement, CommandType>;

/** What only the database can tell when a step is recorded: without it the command is refused. */
export type Requirement =
  | 'no_dispute_waiting'
  | 'settlement_recorded'
  /** The merchant is active, and nothing of the payment was refunded or charged back at the gateway. */
  | 'release_allowed'
  /** It moves money on a person's word: the request's row names that person, and why. */
  | 'request_recorded';

/**
 * What a command does: the order goes `to` a status, or `begins` an operation at the gateway, during
 * which its status stays. With neither, status and operation stay as they are. `step` is what the
 * timeline says of it; a step with the name of a webhook event sends that event.
 */
export type Transition = { step: StepKind; requires?: readonly Requirement[] } & (
  | { to: OrderStatus }
  | { begins: Busy }
  | object
);

/** An order is in a status, or, between two of them, the gateway is at work for it. */
type Phase = OrderStatus | Busy['kind'];

const ACCEPT = {
  begins: { kind: 'refunding', reason: 'dispute_accepted' },
  step: 'REFUND_STARTED',
  requires: ['request_recorded'],
} as const;
const SETTLE_RELEASED = {
  to: 'COMPLETED',
  step: 'ORDER_COMPLETED',
  requires: ['settlement_recorded'],
} as const;
const SETTLE_REFUNDED = {
  to: 'REFUNDED',
  step: 'REFUND_PROCESSED',
  requires: ['settlement_recorded'],
} as const;
/** By an operator, also of an order whose money was refunded or charged back at the gateway. */
const SETTLED = { settleReleased: SETTLE_RELEASED, settleRefunded: SETTLE_REFUNDED } as const;

/**
 * The whole law of an order's life: what is not named is refused. Source: the specification's
 * "States and transitions" and the contract's "States".
 */
const LIFECYCLE = {
  ACCEPTED: {
    pay: { to: 'PAID', step: 'PAYMENT_SUCCESS' },
    failPayment: { step: 'PAYMENT_FAILED' },
    cancel: { begins: { kind: 'closing', because: 'cancel' }, step: 'CLOSING_PAYMENT' },
    expire: { begins: { kind: 'closing', because: 'expiry' }, step: 'CLOSING_PAYMENT' },
    advance: { step: 'CLOCK_ADVANCED' },
  },
  PAID: {
    deliver: { to: 'DELIVERED', step: 'DELIVERY_CONFIRMED' },
    refund: {
      begins: { kind: 'refunding', reason: 'merchant_refund' },
      step: 'REFUND_STARTED',
      requires: ['no_dispute_waiting', 'request_recorded'],
    },
    dispute: { to: 'DISPUTE_OPEN', step: 'DISPUTE_RAISED' },
    // Never delivered, so never the merchant's.
    settleRefunded: SETTLE_REFUNDED,
    advance: { step: 'CLOCK_ADVANCED' },
  },
  DELIVERED: {
    refund: {
      begins: { kind: 'refunding', reason: 'merchant_refund' },
      step: 'REFUND_STARTED',
      requires: ['no_dispute_waiting', 'request_recorded'],
    },
    dispute: { to: 'DISPUTE_OPEN', step: 'DISPUTE_RAISED' },
    expire: {
      begins: { kind: 'releasing' },
      step: 'RELEASE_STARTED',
      requires: ['no_dispute_waiting', 'release_allowed'],
    },
    ...SETTLED,
    advance: { step: 'CLOCK_ADVANCED' },
  },
  DISPUTE_OPEN: {
    submitEvidence: { to: 'DISPUTE_UNDER_REVIEW', step: 'EVIDENCE_SUBMITTED' },
    resolve: { to: 'DELIVERED', step: 'DISPUTE_RESOLVED' },
    accept: ACCEPT,
    expire: {
      begins: { kind: 'refunding', reason: 'dispute_not_resolved_in_time' },
      step: 'REFUND_STARTED',
    },
    ...SETTLED,
    advance: { step: 'CLOCK_ADVANCED' },
  },
  DISPUTE_UNDER_REVIEW: {
    resolve: { to: 'DELIVERED', step: 'DISPUTE_RESOLVED' },
    decideForMerchant: {
      to: 'DELIVERED',
      step: 'DISPUTE_RESOLVED',
      requires: ['request_recorded'],
    },
    accept: ACCEPT,
    decideForBuyer: {
      begins: { kind: 'refunding', reason: 'dispute_decided_for_buyer' },
      step: 'REFUND_STARTED',
      requires: ['request_recorded'],
    },
    expire: {
      begins: { kind: 'refunding', reason: 'dispute_not_resolved_in_time' },
      step: 'REFUND_STARTED',
    },
    ...SETTLED,
    advance: { step: 'CLOCK_ADVANCED' },
  },
  COMPLETED: {},
  REFUNDED: {},
  CANCELLED: {},

  // A payment may still come while its session is being closed.
  closing: {
    pay: { to: 'PAID', step: 'PAYMENT_SUCCESS' },
    failPayment: { step: 'PAYMENT_FAILED' },
    sessionClosed: { to: 'CANCELLED', step: 'ORDER_CANCELLED' },
    closeFailed: { to: 'ACCEPTED', step: 'PAYMENT_STILL_OPEN' },
  },
  releasing: {
    released: { to: 'COMPLETED', step: 'ORDER_COMPLETED' },
    ...SETTLED,
  },
  refunding: {
    refunded: { to: 'REFUNDED', step: 'REFUND_PROCESSED' },
    ...SETTLED,
  },
} as const satisfies Record<Phase, Partial<Record<CommandType, Transition>>>;

/** The commands that the table names. A command that it does not name compiles nowhere below. */
type NamedCommand = { [P in Phase]: keyof (typeof LIFECYCLE)[P] }[Phase];
const TRANSITIONS: Record<Phase, Partial<Record<NamedCommand, Transition>>> = LIFECYCLE;

const CANNOT_SETTLE =
  'Cannot settle; order must be releasing or refunding its money, or have lost it at the gateway';

/** Word for word what a refused command answers; the first two are the specification's own. */
export const REFUSALS = {
  deliver: 'Cannot mark as delivered; order must be in PAID status',
  cancel: 'Cannot cancel; order must be in ACCEPTED status',
  refund: 'Cannot refund; order must be in PAID or DELIVERED status',
  pay: 'Cannot pay; order must be in ACCEPTED status',
  failPayment: 'Cannot fail payment; order must be in ACCEPTED status',
  dispute: 'Cannot raise dispute; order must be in PAID or DELIVERED status',
  submitEvidence: 'Cannot submit evidence; order must be in DISPUTE_OPEN status',
  resolve: 'Cannot resolve; order must be in DISPUTE status',
  accept: 'Cannot accept; order must be in DISPUTE status',
  decideForMerchant: 'Cannot decide; order must be in DISPUTE_UNDER_REVIEW status',
  decideForBuyer: 'Cannot decide; order must be in DISPUTE_UNDER_REVIEW status',
  expire: 'Cannot expire; order must have a deadline that has passed',
  advance: 'Cannot advance; order must be in the sandbox, not busy, and in no final status',
  settleReleased: CANNOT_SETTLE,
  settleRefunded: CANNOT_SETTLE,
  sessionClosed: 'Cannot end the closing; order must be closing its payment session',
  closeFailed: 'Cannot end the closing; order must be closing its payment session',
  released: 'Cannot end the release; order must be releasing its money',
  refunded: 'Cannot end the refund; order must be refunding its money',
} as const satisfies Record<CommandType, string>;

/** What the gateway is doing for an order: the timeline says it, and a refusal does. */
export const DOING = {
  closing: 'the payment session is being closed',
  releasing: 'the funds are being released to the merchant',
  refunding: 'the buyer is being refunded',
} as const satisfies Record<Busy['kind'], string>;

/** Each status in words, with what it waits for, for operators. */
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

/** What a command does to an order in this status or operation; undefined when it does not fit. */
export function transitionOf(
  { status, busy }: Pick<OrderState, 'status' | 'busy'>,
  command: CommandType,
): Transition | undefined {
  return TRANSITIONS[busy?.kind ?? status][command];
}

/** The statuses in which an order that is not busy takes a command. */
export function statusesThatTake(command: CommandType): OrderStatus[] {
  return ORDER_STATUSES.filter((status) => command in TRANSITIONS[status]);
}

/** True once nothing more can happen to the order. */
export function isFinal(status: OrderStatus): boolean {
  return Object.keys(TRANSITIONS[status]).length === 0;
}

/**
 * Why an order cannot take a command: the status that it would need, and, where it has that status
 * but is busy, what it is doing.
 */
export function refusalOf(
  { status, busy }: Pick<OrderState, 'status' | 'busy'>,
  command: CommandType,
): DomainError {
  const isOnlyBusy = busy !== null && command in TRANSITIONS[status];
  const because = isOnlyBusy ? `; ${DOING[busy.kind]}` : '';
  return new DomainError('INVALID_STATE', REFUSALS[command] + because);
}
