import { describe, expect, test } from 'vitest';
import type { CommandType } from '../../src/domain/index.ts';
import { ORDER_STATUSES } from '../../src/domain/index.ts';
import { statusOf } from './lifecycle-model.ts';
import type { Pair } from './lifecycle-walk.ts';
import {
  aCommand,
  command,
  COMMAND_TYPES,
  createPair,
  NOW_MS,
  reachable,
} from './lifecycle-walk.ts';

const HOUR_MS = 3_600_000;
const PLACES = reachable();

test('a new order is ACCEPTED, and its first step is ORDER_CREATED', () => {
  const { state, step } = createPair(true);
  const deadline = { kind: 'payment_link', atMs: NOW_MS + 24 * HOUR_MS };
  const after = { status: 'ACCEPTED', pendingOperation: null, deadline, disputeCount: 0 };
  expect(state).toEqual({ terms: state.terms, ...after, stepNumber: 1, eventSequence: 1 });
  expect(step).toEqual({
    number: 1,
    kind: 'ORDER_CREATED',
    atMs: NOW_MS,
    ...after,
    event: { type: 'ORDER_CREATED', sequence: 1 },
    details: null,
  });
});

test('every status can be reached', () => {
  const reached = [...PLACES.values()].flat().map(({ facts }) => statusOf(facts));
  expect([...new Set(reached)].toSorted()).toEqual([...ORDER_STATUSES].toSorted());
});

/** The moments at which a rule can change: now, the last millisecond before the deadline, and the deadline. */
function momentsOf({ nowMs, facts: { alarmAtMs } }: Pair): number[] {
  return alarmAtMs === undefined ? [nowMs] : [nowMs, alarmAtMs - 1, alarmAtMs];
}

/** A command at a moment; a dispute that is handled then may have been received before. */
function commandsAt(pair: Pair, atMs: number, type: CommandType) {
  if (type !== 'dispute') return [aCommand(type)];
  return momentsOf(pair)
    .filter((receivedAtMs) => receivedAtMs <= atMs)
    .map((receivedAtMs) => aCommand(type, receivedAtMs));
}

describe('the transition table and the model agree on every command, in words, steps, events and deadlines', () => {
  test.each([...PLACES])('%s', (_place, pairs) => {
    for (const pair of pairs) {
      for (const nowMs of momentsOf(pair)) {
        const asked = COMMAND_TYPES.flatMap((type) => commandsAt(pair, nowMs, type));
        for (const one of asked) command({ ...pair, nowMs }, one);
      }
    }
  });
});

test('the database checks that a deadline is handled on time, but not the second time', () => {
  const withDeadline = [...PLACES.values()].flat().filter(({ facts }) => facts.alarmAtMs);
  const requirements = withDeadline.map((pair) => {
    const nowMs = pair.facts.alarmAtMs!;
    const { requires } = command({ ...pair, nowMs }, { type: 'expire' }) ?? {};
    return [pair.facts.isSecondAlarm, requires?.includes('deadline_on_time')] as const;
  });
  const expiring = requirements.filter(([, isChecked]) => isChecked !== undefined);
  expect(new Set(expiring.map(String))).toEqual(new Set(['false,true', 'true,false']));
});
