import { expect, test } from 'vitest';
import { NOT_IN_KNOWN, planMoods, planRun } from '../../dev/faults/plan.ts';
import type { Turn } from '../../dev/faults/faults.ts';
import { MOODS, WITHOUT_MOOD } from '../../dev/gateway-simulator/moods.ts';
import { createRandom } from '../../dev/gateway-simulator/random.ts';
import { SWITCH_DEFAULTS } from '../../dev/gateway-simulator/switches.ts';

const moods = Object.keys(MOODS).toSorted();

/** The moods in faults. */
const moodsOf = (turns: readonly Turn[]) =>
  turns
    .flatMap(({ faults }) => faults)
    .flatMap((one) => (one.kind === 'mood' ? [one.mood] : []))
    .toSorted();

test('each switch of the gateway simulator is set by a mood, or there is a reason why not', () => {
  const inMoods = new Set(Object.values(MOODS).flatMap((switches) => Object.keys(switches)));
  const known = [...inMoods, ...Object.keys(WITHOUT_MOOD)].toSorted();
  expect(known).toEqual(Object.keys(SWITCH_DEFAULTS).toSorted());
});

test('the plan of the randomised test has each mood', () => {
  const { lanes } = planRun({ orders: 30, faults: 0, seed: 1, outcome: 'open' });
  const turns = lanes.flatMap((lane) => lane.turns);
  expect(moodsOf(turns)).toEqual(moods);
});

test('the plan of chaos has each mood, or there is a reason why not', () => {
  const planned = moodsOf(planMoods(createRandom(1)));
  expect([...planned, ...Object.keys(NOT_IN_KNOWN)].toSorted()).toEqual(moods);
});

test('the same seed gives the same moods; another seed gives others', () => {
  expect(planMoods(createRandom(7))).toEqual(planMoods(createRandom(7)));
  expect(planMoods(createRandom(8))).not.toEqual(planMoods(createRandom(7)));
});

test('one of the two seeds of the long suite restores PostgreSQL, and the other one Temporal', () => {
  const restored = [5, 10].map((seed) =>
    planRun({ orders: 30, faults: 0, seed, outcome: 'open' })
      .lanes.flatMap(({ turns }) => turns.flatMap(({ faults }) => faults))
      .flatMap((fault) => (fault.kind === 'restore' ? [fault.side] : [])),
  );
  expect(restored).toEqual([['postgres'], ['temporal']]);
});
