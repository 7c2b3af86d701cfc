import { isDeepStrictEqual } from 'node:util';
import type {
  Command,
  CommandType,
  OrderState,
  OrderStatus,
  OrderTerms,
  Step,
} from '../../../src/domain/index.ts';
import {
  firstChange,
  decide,
  REFUSALS,
  SETTLE_COMMANDS,
  stateAfter,
} from '../../../src/domain/index.ts';

/** A recorded step, with the time at which the database received its command, null without a row of it. */
export interface RecordedStep {
  readonly step: Step;
  readonly receivedAtMs: number | null;
}

/** An order's row, with its steps. */
export interface ComparedOrder {
  readonly orderNumber: string;
  readonly status: OrderStatus;
  readonly stepNumber: number;
  readonly terms: OrderTerms;
  readonly steps: readonly RecordedStep[];
}

/** The commands that an order of a run can have got: no operator settles one outside the gateway. */
const COMMAND_TYPES = (Object.keys(REFUSALS) as CommandType[]).filter(
  (type) => !Object.values<CommandType>(SETTLE_COMMANDS).includes(type),
);

/**
 * Replays the steps of an order with the domain's rules: each must be what a legal command makes of the
 * state before it.
 *
 * @param steps of one order, by number
 * @returns the state after them and the first illegal step, undefined if all are legal
 */
export function replay(
  terms: OrderTerms,
  steps: readonly RecordedStep[],
): { state: OrderState | undefined; fault: string | undefined } {
  let state: OrderState | undefined;
  for (const recorded of steps) {
    const { step } = recorded;
    const next = state === undefined ? created(terms, step) : after(state, recorded);
    if (next === undefined) {
      const before = state === undefined ? 'nothing' : placeOf(state);
      const fault = `step ${step.number}, ${step.kind} to ${placeOf(step)}, is not legal after ${before}`;
      return { state, fault };
    }
    state = next;
  }
  return { state, fault: undefined };
}

const placeOf = ({ status, pendingOperation }: Pick<Step, 'status' | 'pendingOperation'>) =>
  pendingOperation ? `${status} (${pendingOperation.kind})` : status;

function created(terms: OrderTerms, step: Step): OrderState | undefined {
  const change = firstChange(terms, step.atMs, step.deadline?.atMs ?? Number.NaN);
  return isDeepStrictEqual(change.step, step) ? change.state : undefined;
}

function after(state: OrderState, recorded: RecordedStep): OrderState | undefined {
  const step = asDecided(recorded.step);
  const isLegal = COMMAND_TYPES.some((type) =>
    stepsOf(state, commandOf(type, step, recorded.receivedAtMs), step.atMs).some((legal) =>
      isDeepStrictEqual(legal, step),
    ),
  );
  return isLegal ? stateAfter(state, step) : undefined;
}

/** The step as the domain decides it: `recordStep` adds the id of the cancel to a closing, also for the steps beside it. */
function asDecided(step: Step): Step {
  if (step.pendingOperation?.kind !== 'closing') return step;
  const { kind, cause } = step.pendingOperation;
  return { ...step, pendingOperation: { kind, cause } };
}

/** A row that is later than its step was written by a repeat, after a restore had lost the first one. */
const isReceipt = (receivedAtMs: number | null, { atMs }: Step): receivedAtMs is number =>
  receivedAtMs !== null && receivedAtMs <= atMs;

function commandOf(type: CommandType, step: Step, receivedAtMs: number | null): Command {
  switch (type) {
    case 'advance':
      return { type, seconds: step.details?.seconds ?? 0 };
    case 'dispute':
      return { type, receivedAtMs: isReceipt(receivedAtMs, step) ? receivedAtMs : 0 };
    default:
      return { type };
  }
}

/**
 * The step of a command; of one that closes the payment session also the step that is recorded instead
 * if no session is open.
 */
function stepsOf(state: OrderState, command: Command, atMs: number): Step[] {
  const decided = decide(state, command, atMs);
  if (decided.outcome === 'refused') return [];
  const { step, ifNoSessionOpen } = decided;
  return ifNoSessionOpen ? [step, ifNoSessionOpen] : [step];
}
