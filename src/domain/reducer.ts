import type { DomainError } from './errors.ts';
import type { Command, Requirement, Transition } from './lifecycle.ts';
import { transitionOf } from './lifecycle.ts';
import type {
  Deadline,
  EventType,
  OrderState,
  OrderStatus,
  OrderTerms,
  Step,
  StepDetails,
} from './order.ts';
import { EVENT_TYPES, EXTENSION_MS, OPERATOR_DECIDES_FROM, STATUSES } from './order.ts';
import { refusalOf } from './refusals.ts';

/** The state after a transition, and the step to record for it. */
export interface Change {
  state: OrderState;
  step: Step;
  /** Of CLOSING_PAYMENT: the step to record in its place if no payment session is open. */
  ifNoSessionOpen?: Step;
  /** Conditions that the database checks when it records the step. */
  requires?: readonly Requirement[];
}

/** The result of a command: a change to record, or a refusal with its exact message. */
export type Decision =
  | ({ outcome: 'changed' } & Change)
  | { outcome: 'refused'; error: DomainError };

/** The order's first step: created, waiting for payment until its link expires. */
export function firstChange(
  terms: OrderTerms,
  createdAtMs: number,
  paymentLinkExpiresAtMs: number,
): Change {
  const before: OrderState = {
    terms,
    status: 'ACCEPTED',
    pendingOperation: null,
    deadline: { kind: 'payment_link', atMs: paymentLinkExpiresAtMs },
    disputeCount: 0,
    stepNumber: 0,
    eventSequence: 0,
  };
  return changeBy(before, { step: 'ORDER_CREATED' }, undefined, createdAtMs);
}

/**
 * Decides whether a command is legal now, and what it changes.
 *
 * @param nowMs the moment of the command, Unix milliseconds
 */
export function decide(state: OrderState, command: Command, nowMs: number): Decision {
  const transition = transitionOf(state, command.type);
  if (transition === undefined || !meetsCondition(state, command, nowMs)) {
    return { outcome: 'refused', error: refusalOf(state, command.type) };
  }
  return { outcome: 'changed', ...changeBy(state, transition, command, nowMs) };
}

export function stateAfter(before: OrderState, step: Step): OrderState {
  const { status, pendingOperation, deadline, disputeCount, number, event } = step;
  const eventSequence = event?.sequence ?? before.eventSequence;
  return {
    ...before,
    status,
    pendingOperation,
    deadline,
    disputeCount,
    operatorReview: operatorReviewAfter(before, step),
    stepNumber: number,
    eventSequence,
  };
}

/**
 * The operator's review follows from the recorded steps, so that a dispute keeps the rules under which it was
 * raised.
 */
function operatorReviewAfter(
  { operatorReview }: OrderState,
  { status, kind }: Step,
): OrderState['operatorReview'] {
  if (status !== 'DISPUTE_UNDER_REVIEW') return undefined;
  if (kind === 'DISPUTE_RAISED') return 'reviewedWithoutEvidence';
  return operatorReview && kind === 'EVIDENCE_SUBMITTED' ? 'reviewedWithEvidence' : operatorReview;
}

function meetsCondition(state: OrderState, command: Command, nowMs: number): boolean {
  switch (command.type) {
    case 'dispute':
      // The time of receipt counts, even if the dispute window has ended since.
      return state.deadline?.kind !== 'completion' || command.receivedAtMs < state.deadline.atMs;
    case 'expire':
      return state.deadline !== null && state.deadline.atMs <= nowMs;
    case 'extend':
      return state.deadline !== null && state.deadline.atMs <= nowMs && !state.deadline.isExtended;
    case 'advance':
      return state.terms.environment === 'sandbox';
    default:
      return true;
  }
}

function changeBy(
  before: OrderState,
  transition: Transition,
  command: Command | undefined,
  atMs: number,
): Change {
  const { step: kind } = transition;
  const status = statusAfter(before, transition);
  const eventType = EVENT_TYPES.find((type): type is EventType => type === kind);
  const step: Step = {
    number: before.stepNumber + 1,
    kind,
    atMs,
    status,
    pendingOperation: pendingOperationAfter(before, transition),
    deadline: deadlineAfter(before, command, status, atMs),
    disputeCount: before.disputeCount + (kind === 'DISPUTE_RAISED' ? 1 : 0),
    event: eventType ? { type: eventType, sequence: before.eventSequence + 1 } : null,
    details: detailsOf(before, command, atMs),
  };
  const requires = requirementsOf(before, transition);
  const ifNoSessionOpen = closedStep(before, step);
  return {
    state: stateAfter(before, step),
    step,
    ...(ifNoSessionOpen && { ifNoSessionOpen }),
    ...(requires && { requires }),
  };
}

function closedStep(before: OrderState, { kind, pendingOperation, atMs }: Step): Step | undefined {
  if (kind !== 'CLOSING_PAYMENT') return undefined;
  const decision = decide({ ...before, pendingOperation }, { type: 'sessionClosed' }, atMs);
  return decision.outcome === 'changed' ? decision.step : undefined;
}

function statusAfter({ status, disputeCount }: OrderState, transition: Transition): OrderStatus {
  if (!('to' in transition)) return status;
  const { to, ifOperatorDecides = to } = transition;
  return disputeCount + 1 >= OPERATOR_DECIDES_FROM ? ifOperatorDecides : to;
}

/** A deadline is extended only once. */
function requirementsOf({ deadline }: OrderState, { requires }: Transition) {
  if (!deadline?.isExtended) return requires;
  return requires?.filter((requirement) => requirement !== 'deadline_on_time');
}

function pendingOperationAfter(
  { pendingOperation }: OrderState,
  transition: Transition,
): OrderState['pendingOperation'] {
  if ('begins' in transition) return transition.begins;
  return 'to' in transition ? null : pendingOperation;
}

function deadlineAfter(
  { terms, deadline, status: before }: OrderState,
  command: Command | undefined,
  status: OrderStatus,
  atMs: number,
): Deadline | null {
  if (command?.type === 'advance') {
    return deadline && { ...deadline, atMs: deadline.atMs - command.seconds * 1000 };
  }
  if (command?.type === 'extend') {
    return deadline && { ...deadline, atMs: atMs + EXTENSION_MS, isExtended: true };
  }
  // Evidence gives a new deadline, also if the dispute was under review before it.
  if (status === before && command?.type !== 'submitEvidence') return deadline;
  const { deadline: kind } = STATUSES[status];
  switch (kind) {
    case 'completion':
      return { kind, atMs: atMs + terms.completionWindowMs };
    case 'dispute_answer':
      return { kind, atMs: atMs + terms.disputeAnswerMs };
    case 'payment_link':
    case null:
      return null;
  }
}

function detailsOf(
  { pendingOperation }: OrderState,
  command: Command | undefined,
  atMs: number,
): StepDetails | null {
  switch (command?.type) {
    case 'advance':
      return { seconds: command.seconds };
    case 'extend':
      return { until: new Date(atMs + EXTENSION_MS).toISOString() };
    case 'decideForMerchant':
      return { for: 'merchant' };
    case 'decideForBuyer':
      return { for: 'buyer' };
    case 'sessionClosed':
      return {
        by:
          pendingOperation?.kind === 'closing' && pendingOperation.cause === 'cancel'
            ? 'merchant'
            : 'expiry',
      };
    default:
      return null;
  }
}
