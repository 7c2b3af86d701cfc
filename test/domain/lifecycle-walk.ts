import assert from 'node:assert/strict';
import type {
  Change,
  Command,
  CommandType,
  OrderState,
  OrderStatus,
  PendingOperation,
} from '../../src/domain/index.ts';
import { firstChange, decide, ORDER_STATUSES, REFUSALS } from '../../src/domain/index.ts';
import type { Facts } from './lifecycle-model.ts';
import {
  factsAtCreation,
  LINK_MS,
  obey,
  refusalOf,
  statusOf,
  storedOf,
} from './lifecycle-model.ts';

const HOUR_MS = 3_600_000;
/** When the orders of these tests are created. */
export const NOW_MS = Date.UTC(2026, 10, 20, 12);
export const COMMAND_TYPES = Object.keys(REFUSALS) as CommandType[];

export interface Pair {
  nowMs: number;
  state: OrderState;
  facts: Facts;
}

/** A new order; with `disputes`, as if so many had been raised before. */
export function createPair(sandbox: boolean, disputes = 0): Pair & Pick<Change, 'step'> {
  const terms = {
    environment: sandbox ? 'sandbox' : 'production',
    completionWindowMs: 24 * HOUR_MS,
    disputeAnswerMs: 72 * HOUR_MS,
  } as const;
  const { state, step } = firstChange(terms, NOW_MS, NOW_MS + LINK_MS);
  return {
    nowMs: NOW_MS,
    state: { ...state, disputeCount: disputes },
    facts: factsAtCreation(sandbox, NOW_MS, disputes),
    step,
  };
}

/**
 * Gives both the same command, and compares all that follows from it: the state and its step, or the exact
 * words of the refusal.
 *
 * @returns what has changed; undefined if both refuse
 */
export function command({ nowMs, state, facts }: Pair, asked: Command) {
  const decision = decide(state, asked, nowMs);
  const obeyed = obey(facts, asked, nowMs);
  if (decision.outcome === 'refused' || obeyed === undefined) {
    const { code, message } = decision.outcome === 'refused' ? decision.error : {};
    const refusal = obeyed === undefined ? refusalOf(facts, asked) : undefined;
    assert.deepEqual([asked.type, code, message], [asked.type, 'INVALID_STATE', refusal]);
    return undefined;
  }
  const { terms, operatorReview: _, ...stored } = decision.state;
  const expected = storedOf(obeyed);
  assert.deepEqual([asked.type, terms, stored], [asked.type, state.terms, expected]);
  const { stepNumber, eventSequence, ...after } = expected;
  const { kind, isEvent, details } = obeyed.steps.at(-1)!;
  const event = isEvent ? { type: kind, sequence: eventSequence } : null;
  const step = { number: stepNumber, kind, atMs: nowMs, ...after, event, details };
  assert.deepEqual([asked.type, decision.step], [asked.type, step]);
  return { ...decision, facts: obeyed, nowMs };
}

/** A command of a type, received now if it has a time of receipt. */
export function aCommand(type: CommandType, nowMs = NOW_MS): Command {
  if (type === 'dispute') return { type, receivedAtMs: nowMs };
  return type === 'advance' ? { type, seconds: 60 } : { type };
}

/** What distinguishes the places in which an order can be. */
function placeOf(facts: Facts): string {
  const { doing, disputes, isSecondAlarm, alarmAtMs } = facts;
  return [
    statusOf(facts),
    ...Object.values(doing ?? {}),
    ...(disputes > 4 && facts.dispute !== 'none' ? ['decided by an operator'] : []),
    ...(disputes > 4 && facts.dispute === 'answered' ? ['with evidence'] : []),
    ...(isSecondAlarm && alarmAtMs !== undefined ? ['extended'] : []),
  ].join(', ');
}

/** Every place that a sandbox order can reach, with an order in it: by the shortest way, with 0 to 5 disputes. */
export function reachable(): Map<string, Pair[]> {
  const places = new Map<string, Pair[]>();
  const seen = new Set<string>();
  const queue: Pair[] = [createPair(true)];
  for (const pair of queue) {
    const place = placeOf(pair.facts);
    const key = `${place} ${Math.min(pair.facts.disputes, 5)}`;
    if (seen.has(key)) continue;
    seen.add(key);
    places.set(place, [...(places.get(place) ?? []), pair]);
    const atDeadlineMs = Math.max(pair.nowMs, pair.facts.alarmAtMs ?? 0);
    for (const type of COMMAND_TYPES) {
      const isDue = type === 'expire' || type === 'extend';
      const then = { ...pair, nowMs: isDue ? atDeadlineMs : pair.nowMs };
      queue.push(...goOn(then, aCommand(type, then.nowMs)));
    }
  }
  return places;
}

/** The order after a command that neither refuses; whether they agree is for the tests to compare. */
function goOn({ nowMs, state, facts }: Pair, asked: Command): Pair[] {
  const decision = decide(state, asked, nowMs);
  const obeyed = obey(facts, asked, nowMs);
  if (decision.outcome === 'refused' || obeyed === undefined) return [];
  return [{ nowMs, state: decision.state, facts: obeyed }];
}

/** The command that reports the success of the gateway's operation. */
export const ENDINGS = {
  closing: 'sessionClosed',
  releasing: 'released',
  refunding: 'refunded',
} as const satisfies Record<PendingOperation['kind'], CommandType>;

export interface Row {
  from: OrderStatus;
  type: CommandType;
  /** The status once the gateway has done its part. */
  to: OrderStatus;
  /** The last step in the timeline then, and whether it is a webhook event. */
  step: string;
  isEvent: boolean;
  /** The operation that is pending at the gateway first. */
  pending: PendingOperation | null;
  steps: string[];
}

const CALM = reachable();

/** An order as the model has it, in a status, with no pending operation. */
export function factsIn(status: OrderStatus): Facts {
  return CALM.get(status)![0]!.facts;
}

/** The rows of the transition table with these commands, those of a status one after another. */
export function rowsOf(types: readonly CommandType[]): Row[] {
  return ORDER_STATUSES.flatMap((from) => types.flatMap((type) => rowOf(from, type) ?? []));
}

function rowOf(from: OrderStatus, type: CommandType): Row | undefined {
  const before = factsIn(from);
  const isDue = type === 'expire' || type === 'extend';
  const nowMs = (isDue && before.alarmAtMs) || NOW_MS;
  const begun = obey(before, aCommand(type, nowMs), nowMs);
  if (!begun) return undefined;
  const { doing: pending } = begun;
  const after = pending ? obey(begun, { type: ENDINGS[pending.kind] }, nowMs)! : begun;
  const steps = after.steps.slice(before.steps.length);
  const { kind: step, isEvent } = steps.at(-1)!;
  const kinds = steps.map(({ kind }) => kind);
  return { from, type, to: statusOf(after), step, isEvent, pending, steps: kinds };
}
