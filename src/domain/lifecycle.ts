import type {
  DisputeStatus,
  PendingOperation,
  OrderStatus,
  Phase,
  PhaseFacts,
  StepKind,
} from './order.ts';
import { ORDER_STATUSES, phaseOf } from './order.ts';

/** What a client, an operator, the gateway or a deadline does to an order. */
export type Command =
  | { type: 'pay' }
  | { type: 'failPayment' }
  | { type: 'deliver' }
  | { type: 'cancel' }
  /** The merchant cannot fulfil the order and refunds the whole amount. */
  | { type: 'refund' }
  /** `receivedAtMs`: when the API recorded the dispute, by the database's clock, in Unix milliseconds. */
  | { type: 'dispute'; receivedAtMs: number }
  | { type: 'submitEvidence' }
  | { type: 'resolve' }
  | { type: 'accept' }
  | { type: 'decideForMerchant' }
  | { type: 'decideForBuyer' }
  | { type: 'expire' }
  /** The deadline was first handled late: people get one more hour. */
  | { type: 'extend' }
  /** The sandbox clock brings this order's deadline forward. */
  | { type: 'advance'; seconds: number }
  /** The money was moved outside this service; an operator has recorded where it is now. */
  | { type: 'settleReleased' }
  | { type: 'settleRefunded' }
  // Results of the pending operation at the gateway.
  | { type: 'sessionClosed' }
  | { type: 'closeFailed' }
  | { type: 'released' }
  | { type: 'refunded' };
export type CommandType = Command['type'];

/** The test helpers of the sandbox that have a row in `order_commands` but send no message to the workflow. */
export type HelperName = 'latePayment' | 'secondPayment' | 'chargeback' | 'failRefund';

/** How an operator settles an order: the money went to the merchant or back to the buyer. */
export type Settlement = 'released' | 'refunded';
export const SETTLE_COMMANDS = {
  released: 'settleReleased',
  refunded: 'settleRefunded',
} as const satisfies Record<Settlement, CommandType>;

/** What the database checks when it records the step; otherwise the command is refused, or the deadline waits. */
export type Requirement =
  /** The deadline has passed by the database's clock, which dates what must be received before it. */
  | 'deadline_passed'
  /** The deadline is handled within 15 minutes, or for the second time: see `is_deadline_late`. */
  | 'deadline_on_time'
  /** No dispute that was received before the end of the dispute window is waiting. */
  | 'no_dispute_waiting'
  /** No evidence, resolution or acceptance that was received before the dispute's deadline is waiting. */
  | 'no_answer_waiting'
  | 'settlement_recorded'
  /** The merchant is active, and no refund or chargeback at the gateway has reduced the payment. */
  | 'release_allowed'
  /** Not all of the payment was refunded or charged back at the gateway. */
  | 'payment_not_gone'
  /** The buyer's bank has not opened a chargeback that is undecided. */
  | 'no_chargeback_open'
  /** The command has a row, which names who asks for it and why. */
  | 'command_recorded'
  /** The command was received after the dispute: it answers no earlier one. */
  | 'answers_dispute';

/**
 * What a command does. The order changes `to` a status, or `begins` an operation at the gateway during which its
 * status stays; with neither, both stay. `step` is the entry in the timeline. A step with the name of a webhook
 * event sends that event.
 */
export type Transition = { step: StepKind; requires?: readonly Requirement[] } &
  /** `ifOperatorDecides` replaces `to` in a dispute that an operator decides: see `OPERATOR_DECIDES_FROM`. */
  ({ to: OrderStatus; ifOperatorDecides?: DisputeStatus } | { begins: PendingOperation } | object);

/** Its row says who asks for it, a person or the gateway: a message sent from the Temporal UI records no step. */
const WITH_ITS_ROW = { requires: ['command_recorded'] } as const;
const ANSWERS_DISPUTE = { requires: ['command_recorded', 'answers_dispute'] } as const;
const FAIL_PAYMENT = { step: 'PAYMENT_FAILED', ...WITH_ITS_ROW } as const;
const EXTEND = { step: 'DEADLINE_EXTENDED' } as const;
const ADVANCE = { step: 'CLOCK_ADVANCED', ...WITH_ITS_ROW } as const;
const DISPUTE = {
  to: 'DISPUTE_OPEN',
  ifOperatorDecides: 'DISPUTE_UNDER_REVIEW',
  step: 'DISPUTE_RAISED',
  ...WITH_ITS_ROW,
} as const;
const SUBMIT_EVIDENCE = {
  to: 'DISPUTE_UNDER_REVIEW',
  step: 'EVIDENCE_SUBMITTED',
  ...ANSWERS_DISPUTE,
} as const;
const RESOLVE = { to: 'DELIVERED', step: 'DISPUTE_RESOLVED', ...ANSWERS_DISPUTE } as const;
const REFUND = {
  begins: { kind: 'refunding', reason: 'merchant_refund' },
  step: 'REFUND_STARTED',
  requires: ['no_dispute_waiting', 'command_recorded', 'no_chargeback_open'],
} as const;
/** Commands of an operator; they also apply when the gateway itself has refunded the payment. */
const SETTLED = {
  settleReleased: { to: 'COMPLETED', step: 'ORDER_COMPLETED', requires: ['settlement_recorded'] },
  settleRefunded: { to: 'REFUNDED', step: 'REFUND_PROCESSED', requires: ['settlement_recorded'] },
} as const;
/** The commands that every disputed status takes. */
const DISPUTED = {
  decideForMerchant: RESOLVE,
  decideForBuyer: {
    begins: { kind: 'refunding', reason: 'dispute_decided_for_buyer' },
    step: 'REFUND_STARTED',
    requires: ['command_recorded', 'answers_dispute', 'no_chargeback_open'],
  },
  accept: {
    begins: { kind: 'refunding', reason: 'dispute_accepted' },
    step: 'REFUND_STARTED',
    requires: ['command_recorded', 'answers_dispute', 'no_chargeback_open'],
  },
  expire: {
    begins: { kind: 'refunding', reason: 'dispute_not_resolved_in_time' },
    step: 'REFUND_STARTED',
    requires: ['no_answer_waiting', 'deadline_passed', 'deadline_on_time'],
  },
  extend: EXTEND,
  ...SETTLED,
  advance: ADVANCE,
} as const;

/** `record_step` checks for every PAYMENT_SUCCESS, also for one that is written again, that its capture is recorded. */
const PAY = { to: 'PAID', step: 'PAYMENT_SUCCESS' } as const;

/**
 * Every legal transition. A command that a row does not name is refused. Source: the specification's "States and
 * transitions" and the contract's "States".
 */
const LIFECYCLE = {
  ACCEPTED: {
    pay: PAY,
    failPayment: FAIL_PAYMENT,
    cancel: {
      begins: { kind: 'closing', cause: 'cancel' },
      step: 'CLOSING_PAYMENT',
      ...WITH_ITS_ROW,
    },
    expire: {
      begins: { kind: 'closing', cause: 'expiry' },
      step: 'CLOSING_PAYMENT',
      requires: ['deadline_passed', 'deadline_on_time'],
    },
    extend: EXTEND,
    advance: ADVANCE,
  },
  PAID: {
    deliver: {
      to: 'DELIVERED',
      step: 'DELIVERY_CONFIRMED',
      requires: ['command_recorded', 'payment_not_gone'],
    },
    refund: REFUND,
    dispute: DISPUTE,
    // The order was not delivered, so its money cannot be settled as released to the merchant.
    settleRefunded: SETTLED.settleRefunded,
    advance: ADVANCE,
  },
  DELIVERED: {
    refund: REFUND,
    dispute: DISPUTE,
    expire: {
      begins: { kind: 'releasing' },
      step: 'RELEASE_STARTED',
      requires: ['no_dispute_waiting', 'deadline_passed', 'deadline_on_time', 'release_allowed'],
    },
    extend: EXTEND,
    ...SETTLED,
    advance: ADVANCE,
  },
  DISPUTE_OPEN: { submitEvidence: SUBMIT_EVIDENCE, resolve: RESOLVE, ...DISPUTED },
  DISPUTE_UNDER_REVIEW: { resolve: RESOLVE, ...DISPUTED },
  reviewedWithoutEvidence: { submitEvidence: SUBMIT_EVIDENCE, ...DISPUTED },
  reviewedWithEvidence: DISPUTED,
  COMPLETED: {},
  REFUNDED: {},
  CANCELLED: {},

  // The buyer can still pay while the payment session is being closed.
  closing: {
    pay: PAY,
    failPayment: FAIL_PAYMENT,
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

/** The commands in the table, to check the names in the lists below. */
type NamedCommand = { [P in Phase]: keyof (typeof LIFECYCLE)[P] }[Phase];
const TRANSITIONS: Record<Phase, Partial<Record<NamedCommand, Transition>>> = LIFECYCLE;

/** The transition of a command in this state; undefined when the command is illegal there. */
export function transitionOf(order: PhaseFacts, command: CommandType): Transition | undefined {
  return TRANSITIONS[phaseOf(order)][command];
}

/** How a merchant answers a dispute. */
export const DISPUTE_ANSWERS = ['submitEvidence', 'resolve', 'accept'] as const;
/** What comes before the deadline of a dispute if it was received in time. */
const ANSWERS = [...DISPUTE_ANSWERS, 'decideForMerchant', 'decideForBuyer'] as const;
export type Answer = (typeof ANSWERS)[number];

/** The answers and decisions that are legal now, each with what the database checks when it records its step. */
export function answersOf(order: PhaseFacts): Partial<Record<Answer, readonly Requirement[]>> {
  const legal = ANSWERS.flatMap((type) => {
    const transition = transitionOf(order, type);
    return transition ? [[type, transition.requires ?? []] as const] : [];
  });
  return Object.fromEntries(legal);
}

/** The phases in which a command is legal. */
export function phasesThatTake(command: CommandType): Phase[] {
  const phases = Object.keys(LIFECYCLE) as Phase[];
  return phases.filter((phase) => command in TRANSITIONS[phase]);
}

/** The statuses in which a command is legal while no operation is pending. */
export function statusesThatTake(command: CommandType): OrderStatus[] {
  return ORDER_STATUSES.filter((status) => command in TRANSITIONS[status]);
}

/** True when no command is legal in the status. */
export function isFinal(status: OrderStatus): boolean {
  return Object.keys(TRANSITIONS[status]).length === 0;
}
