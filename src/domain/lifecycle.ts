import { DomainError } from './errors.ts';
import type {
  Busy,
  Deadline,
  EventType,
  OrderState,
  OrderStatus,
  OrderTerms,
  RefundReason,
  Step,
  StepDetails,
  StepKind,
} from './order.ts';
import { EVENT_TYPES, isFinal } from './order.ts';

/** What can be asked of an order, or happens to it from outside. */
export type Command =
  | { type: 'pay' }
  | { type: 'failPayment' }
  | { type: 'deliver' }
  | { type: 'cancel' }
  /** `receivedAtMs` is the database's time at which our API wrote the dispute down. */
  | { type: 'dispute'; receivedAtMs: number }
  | { type: 'submitEvidence' }
  | { type: 'resolve' }
  | { type: 'accept' }
  | { type: 'decideForMerchant' }
  | { type: 'decideForBuyer' }
  /** The running deadline has passed. */
  | { type: 'expire' }
  /** The money was moved outside the gateway; an operator wrote that down. */
  | { type: 'settle' }
  /** The sandbox clock: this order's deadline comes nearer. */
  | { type: 'advance'; seconds: number };
export type CommandType = Command['type'];

/**
 * The whole law of an order's life: the status that each command leads to. What is not named is
 * refused. Source: the specification's "States and transitions" and the contract's "States".
 */
const TRANSITIONS = {
  ACCEPTED: {
    pay: 'PAID',
    failPayment: 'ACCEPTED',
    cancel: 'CANCELLED',
    expire: 'CANCELLED',
    advance: 'ACCEPTED',
  },
  PAID: { deliver: 'DELIVERED', dispute: 'DISPUTE_OPEN', advance: 'PAID' },
  DELIVERED: {
    dispute: 'DISPUTE_OPEN',
    expire: 'COMPLETED',
    settle: 'COMPLETED',
    advance: 'DELIVERED',
  },
  DISPUTE_OPEN: {
    submitEvidence: 'DISPUTE_UNDER_REVIEW',
    resolve: 'DELIVERED',
    accept: 'REFUNDED',
    expire: 'REFUNDED',
    settle: 'REFUNDED',
    advance: 'DISPUTE_OPEN',
  },
  DISPUTE_UNDER_REVIEW: {
    resolve: 'DELIVERED',
    accept: 'REFUNDED',
    decideForMerchant: 'DELIVERED',
    decideForBuyer: 'REFUNDED',
    expire: 'REFUNDED',
    settle: 'REFUNDED',
    advance: 'DISPUTE_UNDER_REVIEW',
  },
  COMPLETED: {},
  REFUNDED: {},
  CANCELLED: {},
} as const satisfies Record<OrderStatus, Partial<Record<CommandType, OrderStatus>>>;

/** Word for word what a refused command answers; the first two are the specification's own. */
export const REFUSALS = {
  deliver: 'Cannot mark as delivered; order must be in PAID status',
  cancel: 'Cannot cancel; order must be in ACCEPTED status',
  pay: 'Cannot pay; order must be in ACCEPTED status',
  failPayment: 'Cannot fail payment; order must be in ACCEPTED status',
  dispute: 'Cannot raise dispute; order must be in PAID or DELIVERED status',
  submitEvidence: 'Cannot submit evidence; order must be in DISPUTE_OPEN status',
  resolve: 'Cannot resolve; order must be in DISPUTE status',
  accept: 'Cannot accept; order must be in DISPUTE status',
  decideForMerchant: 'Cannot decide; order must be in DISPUTE_UNDER_REVIEW status',
  decideForBuyer: 'Cannot decide; order must be in DISPUTE_UNDER_REVIEW status',
  settle: 'Cannot settle; order must be releasing or refunding its money',
  expire: 'Cannot expire; order must have a deadline that has passed',
  advance: 'Cannot advance; order must be in the sandbox, not busy, and in no final status',
} as const satisfies Record<CommandType, string>;

/** What a busy order is doing: the timeline says it, and a refusal does. */
export const DOING = {
  closing: 'the payment session is being closed',
  releasing: 'the funds are being released to the merchant',
  refunding: 'the buyer is being refunded',
} as const satisfies Record<Busy['kind'], string>;

/** Commands that still fit while the order is busy: money may arrive while its session is closed. */
const FITS_WHILE_BUSY = {
  closing: ['pay', 'failPayment'],
  releasing: ['settle'],
  refunding: ['settle'],
} as const satisfies Record<Busy['kind'], readonly CommandType[]>;

/** The timeline's word for a command that takes effect at once. */
const STEP_OF_COMMAND = {
  pay: 'PAYMENT_SUCCESS',
  failPayment: 'PAYMENT_FAILED',
  deliver: 'DELIVERY_CONFIRMED',
  dispute: 'DISPUTE_RAISED',
  submitEvidence: 'EVIDENCE_SUBMITTED',
  resolve: 'DISPUTE_RESOLVED',
  decideForMerchant: 'DISPUTE_RESOLVED',
  advance: 'CLOCK_ADVANCED',
} as const satisfies Partial<Record<CommandType, StepKind>>;

const STEP_OF_BUSY = {
  closing: 'CLOSING_PAYMENT',
  releasing: 'RELEASE_STARTED',
  refunding: 'REFUND_STARTED',
} as const satisfies Record<Busy['kind'], StepKind>;

const END_OF_BUSY = {
  closing: { status: 'CANCELLED', kind: 'ORDER_CANCELLED' },
  releasing: { status: 'COMPLETED', kind: 'ORDER_COMPLETED' },
  refunding: { status: 'REFUNDED', kind: 'REFUND_PROCESSED' },
} as const satisfies Record<Busy['kind'], { status: OrderStatus; kind: StepKind }>;

/** A state after something happened, and the step to record for it. */
export interface Change {
  state: OrderState;
  step: Step;
}

/**
 * What a command does: a change to record, a busy phase to begin (nothing is recorded until the
 * money side has answered), or a refusal with the exact message.
 */
export type Decision =
  | ({ outcome: 'changed' } & Change)
  | { outcome: 'busy'; state: OrderState; busy: Busy }
  | { outcome: 'refused'; error: DomainError };

/** The order's first step: created, waiting for payment until its link expires. */
export function createOrder(
  terms: OrderTerms,
  createdAtMs: number,
  paymentLinkExpiresAtMs: number,
): Change {
  const blank: OrderState = {
    terms,
    status: 'ACCEPTED',
    busy: null,
    deadline: { kind: 'payment_link', atMs: paymentLinkExpiresAtMs },
    disputeCount: 0,
    stepNumber: 0,
    eventSequence: 0,
  };
  return change(blank, 'ORDER_CREATED', createdAtMs, {});
}

/**
 * Asks the law whether a command may happen now, and what it does.
 *
 * @param nowMs the moment of the command, Unix milliseconds
 */
export function decide(state: OrderState, command: Command, nowMs: number): Decision {
  const next = nextStatus(state, command, nowMs);
  if (next === undefined) return { outcome: 'refused', error: refusalOf(state, command.type) };
  if (command.type === 'settle') return { outcome: 'changed', ...finishBusy(state, nowMs) };
  const busy = busyBefore(next, command);
  if (busy !== null) return { outcome: 'busy', state: { ...state, busy }, busy };
  const kind = STEP_OF_COMMAND[command.type as keyof typeof STEP_OF_COMMAND];
  return {
    outcome: 'changed',
    ...change(
      state,
      kind,
      nowMs,
      {
        status: next,
        // A payment that fails while its session is being closed ends nothing.
        busy: next === state.status ? state.busy : null,
        deadline: deadlineAfter(state, command, next, nowMs),
        disputeCount: state.disputeCount + (command.type === 'dispute' ? 1 : 0),
      },
      detailsOf(command),
    ),
  };
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

/** The order as a step of the book left it. */
export function stateAfter(before: OrderState, step: Step): OrderState {
  const { status, busy, deadline, disputeCount, number, event } = step;
  const eventSequence = event?.sequence ?? before.eventSequence;
  return { ...before, status, busy, deadline, disputeCount, stepNumber: number, eventSequence };
}

/** The busy phase written down: same status, and the timeline says what the order is doing. */
export function announceBusy(state: OrderState, nowMs: number): Change {
  const { busy } = state;
  if (busy === null) throw new Error('Only a busy order can announce what it does');
  const isDecided = busy.kind === 'refunding' && busy.reason === 'dispute_decided_for_buyer';
  return change(state, STEP_OF_BUSY[busy.kind], nowMs, {}, isDecided ? { for: 'buyer' } : null);
}

/** The busy phase came to its end: the money has moved, or the session is closed. */
export function finishBusy(state: OrderState, nowMs: number): Change {
  if (state.busy === null) throw new Error('Only a busy order can finish what it does');
  const { busy } = state;
  const { status, kind } = END_OF_BUSY[busy.kind];
  const by = busy.kind === 'closing' && busy.because === 'cancel' ? 'merchant' : 'expiry';
  const details = busy.kind === 'closing' ? ({ by } as const) : null;
  return change(state, kind, nowMs, { status, busy: null, deadline: null }, details);
}

/** The session could not be closed: the order is as it was before. */
export function giveUpClosing(state: OrderState, nowMs: number): Change {
  return change(state, 'PAYMENT_STILL_OPEN', nowMs, { busy: null });
}

/** True when a dispute was received in time, though its window has ended since. */
export function isReceivedInTime(state: OrderState, receivedAtMs: number): boolean {
  return state.deadline?.kind !== 'completion' || receivedAtMs < state.deadline.atMs;
}

function nextStatus(state: OrderState, command: Command, nowMs: number): OrderStatus | undefined {
  const fits: readonly CommandType[] | null = state.busy && FITS_WHILE_BUSY[state.busy.kind];
  if (fits !== null && !fits.includes(command.type)) return undefined;
  const allowed: Partial<Record<CommandType, OrderStatus>> = TRANSITIONS[state.status];
  return meetsCondition(state, command, nowMs) ? allowed[command.type] : undefined;
}

function meetsCondition(state: OrderState, command: Command, nowMs: number): boolean {
  switch (command.type) {
    case 'dispute':
      return isReceivedInTime(state, command.receivedAtMs);
    case 'expire':
      return state.deadline !== null && state.deadline.atMs <= nowMs;
    case 'settle':
      return state.busy !== null;
    case 'advance':
      return state.terms.environment === 'sandbox';
    default:
      return true;
  }
}

/** What the timeline says of a command that takes effect at once, beyond its kind. */
function detailsOf(command: Command): StepDetails | null {
  if (command.type === 'advance') return { seconds: command.seconds };
  return command.type === 'decideForMerchant' ? { for: 'merchant' } : null;
}

/** COMPLETED, REFUNDED and CANCELLED come only after the gateway has done its part. */
function busyBefore(next: OrderStatus, command: Command): Busy | null {
  if (!isFinal(next)) return null;
  switch (next) {
    case 'CANCELLED':
      return { kind: 'closing', because: command.type === 'cancel' ? 'cancel' : 'expiry' };
    case 'COMPLETED':
      return { kind: 'releasing' };
    case 'REFUNDED':
      return { kind: 'refunding', reason: refundReason(command) };
  }
}

function refundReason(command: Command): RefundReason {
  if (command.type === 'accept') return 'dispute_accepted';
  return command.type === 'decideForBuyer'
    ? 'dispute_decided_for_buyer'
    : 'dispute_not_resolved_in_time';
}

function deadlineAfter(
  { terms, deadline }: OrderState,
  command: Command,
  next: OrderStatus,
  nowMs: number,
): Deadline | null {
  if (command.type === 'advance') {
    return deadline && { ...deadline, atMs: deadline.atMs - command.seconds * 1000 };
  }
  switch (next) {
    case 'DELIVERED':
      return { kind: 'completion', atMs: nowMs + terms.completionWindowMs };
    case 'DISPUTE_OPEN':
    case 'DISPUTE_UNDER_REVIEW':
      return { kind: 'dispute_answer', atMs: nowMs + terms.disputeAnswerMs };
    case 'ACCEPTED':
      return deadline;
    case 'PAID':
    case 'COMPLETED':
    case 'REFUNDED':
    case 'CANCELLED':
      return null;
  }
}

function change(
  before: OrderState,
  kind: StepKind,
  atMs: number,
  difference: Partial<Pick<OrderState, 'status' | 'busy' | 'deadline' | 'disputeCount'>>,
  details: StepDetails | null = null,
): Change {
  const eventType = EVENT_TYPES.find((type): type is EventType => type === kind);
  const state = {
    ...before,
    ...difference,
    stepNumber: before.stepNumber + 1,
    eventSequence: before.eventSequence + (eventType ? 1 : 0),
  };
  const { status, busy, deadline, disputeCount } = state;
  const event = eventType ? { type: eventType, sequence: state.eventSequence } : null;
  const number = state.stepNumber;
  return {
    state,
    step: { number, kind, atMs, status, busy, deadline, disputeCount, event, details },
  };
}
