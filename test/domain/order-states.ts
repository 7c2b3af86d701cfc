import type {
  PendingOperation,
  Command,
  CommandType,
  Decision,
  OrderState,
  OrderStatus,
} from '../../src/domain/index.ts';
import { decide } from '../../src/domain/index.ts';

export const SECOND_MS = 1000;
export const HOUR_MS = 3_600_000;
/** The time at which the tests call the reducer. */
export const NOW_MS = Date.UTC(2026, 10, 20, 12);

/** Repeated on purpose: a status that is added in the source must be added here too. */
const DEADLINES = {
  ACCEPTED: 'payment_link',
  PAID: null,
  DELIVERED: 'completion',
  DISPUTE_OPEN: 'dispute_answer',
  DISPUTE_UNDER_REVIEW: 'dispute_answer',
  COMPLETED: null,
  REFUNDED: null,
  CANCELLED: null,
} as const satisfies Record<OrderStatus, string | null>;
export const STATUSES = Object.keys(DEADLINES) as OrderStatus[];

/** A sandbox order in a status, its deadline (if that status has one) an hour away. */
export function orderIn(status: OrderStatus, overrides: Partial<OrderState> = {}): OrderState {
  const kind = DEADLINES[status];
  return {
    terms: {
      environment: 'sandbox',
      completionWindowMs: 24 * HOUR_MS,
      disputeAnswerMs: 72 * HOUR_MS,
    },
    status,
    pendingOperation: null,
    deadline: kind && { kind, atMs: NOW_MS + HOUR_MS },
    disputeCount: 0,
    stepNumber: 7,
    eventSequence: 4,
    ...overrides,
  };
}

const EXAMPLES = {
  dispute: { type: 'dispute', receivedAtMs: NOW_MS },
  advance: { type: 'advance', seconds: 60 },
} as const;

/** A command of a type, received now if it has a time of receipt. */
export function aCommand(type: CommandType): Command {
  return type === 'dispute' || type === 'advance' ? EXAMPLES[type] : { type };
}

/** Calls the reducer, which must accept the command. */
export function changeOf(state: OrderState, command: Command, nowMs = NOW_MS) {
  const decision = decide(state, command, nowMs);
  if (decision.outcome !== 'changed') throw new Error(`${command.type}: ${summaryOf(decision)}`);
  return decision;
}

/** The command that reports the success of the gateway's operation. */
export const ENDING = {
  closing: { type: 'sessionClosed' },
  releasing: { type: 'released' },
  refunding: { type: 'refunded' },
} as const satisfies Record<PendingOperation['kind'], Command>;

/** A decision in one word, or the message of its refusal. */
export function summaryOf(decision: Decision): string {
  return decision.outcome === 'refused' ? decision.error.message : decision.outcome;
}
