import { expect, test } from 'vitest';
import { NOT_IN_CHAOS, planMoods } from '../../dev/chaos/moods.ts';
import { MOODS, WITHOUT_MOOD } from '../../dev/gateway-simulator/moods.ts';
import { createRandom } from '../../dev/gateway-simulator/random.ts';
import { SWITCH_DEFAULTS } from '../../dev/gateway-simulator/switches.ts';
import { planOf } from './plan.ts';

const moods = Object.keys(MOODS).toSorted();

test('each switch of the gateway simulator is set by a mood, or there is a reason why not', () => {
  const inMoods = new Set(Object.values(MOODS).flatMap((switches) => Object.keys(switches)));
  const known = [...inMoods, ...Object.keys(WITHOUT_MOOD)].toSorted();
  expect(known).toEqual(Object.keys(SWITCH_DEFAULTS).toSorted());
});

test('the plan of the randomised test has each mood, and an end of it', () => {
  const disturbances = planOf(1, 30).turns.flatMap((turn) =>
    'disturbance' in turn ? [turn.disturbance] : [],
  );
  const moodsThat = (...kinds: string[]) =>
    disturbances
      .flatMap((one) => ('mood' in one && kinds.includes(one.kind) ? [one.mood] : []))
      .toSorted();
  expect(moodsThat('moodBegins', 'shortMood')).toEqual(moods);
  expect(moodsThat('moodEnds', 'shortMood')).toEqual(moods);
});

test('the plan of chaos has each mood, or there is a reason why not', () => {
  const planned = planMoods(createRandom(1)).map(({ name }) => name);
  expect([...planned, ...Object.keys(NOT_IN_CHAOS)].toSorted()).toEqual(moods);
});

test('the same seed gives the same moods; another seed gives others', () => {
  expect(planMoods(createRandom(7))).toEqual(planMoods(createRandom(7)));
  expect(planMoods(createRandom(8))).not.toEqual(planMoods(createRandom(7)));
});
