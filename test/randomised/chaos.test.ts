import { expect, test } from 'vitest';
import { planFaults } from '../../dev/faults/plan.ts';
import { planOrders } from '../../dev/load/plan.ts';
import { actsWith } from '../../dev/load/acts.ts';
import { replay } from '../../dev/load/oracle/replay.ts';
import { createRandom } from '../../dev/gateway-simulator/random.ts';
import type { Command, Step } from '../../src/domain/index.ts';
import { createOrder, decide } from '../../src/domain/index.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 12);
const TERMS = {
  environment: 'sandbox',
  completionWindowMs: 24 * HOUR_MS,
  disputeAnswerMs: 72 * HOUR_MS,
} as const;

/** The steps of an order that got these commands, a minute apart. */
function stepsAfter(commands: readonly Command[]): Step[] {
  const created = createOrder(TERMS, NOW_MS, NOW_MS + 24 * HOUR_MS);
  let { state } = created;
  const steps = [created.step];
  for (const [index, command] of commands.entries()) {
    const decided = decide(state, command, NOW_MS + (index + 1) * 60_000);
    if (decided.outcome === 'refused') throw decided.error;
    state = decided.state;
    steps.push(decided.step);
  }
  return steps;
}

const recorded = (steps: readonly Step[]) => steps.map((step) => ({ step, receivedAtMs: null }));

const LIFE: Command[] = [
  { type: 'failPayment' },
  { type: 'pay' },
  { type: 'deliver' },
  { type: 'dispute', receivedAtMs: NOW_MS },
  { type: 'resolve' },
  { type: 'advance', seconds: 24 * 3600 },
  { type: 'expire' },
  { type: 'released' },
];

test('the steps of a lifecycle replay without a fault', () => {
  const { state, fault } = replay(TERMS, recorded(stepsAfter(LIFE)));
  expect({ status: state?.status, stepNumber: state?.stepNumber, fault }).toEqual({
    status: 'COMPLETED',
    stepNumber: LIFE.length + 1,
    fault: undefined,
  });
});

test('an order that is cancelled while no session is open has no step of closing it', () => {
  const [created, closing, cancelled] = stepsAfter([{ type: 'cancel' }, { type: 'sessionClosed' }]);
  const atMs = closing?.atMs ?? 0;
  const direct = { ...cancelled!, number: 2, atMs };
  expect(replay(TERMS, recorded([created!, direct])).fault).toBeUndefined();
});

test('each step that is left out, doubled or changed is an illegal transition', () => {
  const steps = stepsAfter(LIFE);
  const renumbered = (list: readonly Step[]) =>
    list.map((step, index) => ({ ...step, number: index + 1 }));
  const faults = steps
    .slice(1, -1)
    .flatMap((step, index) => [
      replay(TERMS, recorded(renumbered(steps.toSpliced(index + 1, 1)))).fault,
      replay(TERMS, recorded(renumbered(steps.toSpliced(index + 1, 0, step)))).fault,
      replay(TERMS, recorded(steps.with(index + 1, { ...step, status: 'CANCELLED' }))).fault,
    ]);
  expect(faults).not.toContain(undefined);
});

test('the same seed gives the same faults and orders; another seed gives others', () => {
  const planOf = (seed: number) => {
    const random = createRandom(seed);
    return [
      planOrders({ count: 50, merchants: 5, outcome: 'known' }, random),
      planFaults(20, random),
    ];
  };
  expect(planOf(7)).toEqual(planOf(7));
  expect(planOf(8)).not.toEqual(planOf(7));
});

test.for(['known', 'open'] as const)(
  'a plan has each act that is possible if its outcome is %s, and knows its end only then',
  (outcome) => {
    const possible = actsWith(outcome).map(({ name }) => name);
    const plans = planOrders({ count: 100, merchants: 1, outcome }, createRandom(3));
    const planned = new Set(plans.flatMap(({ acts }) => acts));
    expect([...planned].toSorted()).toEqual(possible.toSorted());
    const known = plans.filter(({ ends }) => ends);
    expect(known).toHaveLength(outcome === 'known' ? plans.length : 0);
  },
);

test('a run has kills, freezes and cut-offs, at most a third of them freezes', () => {
  const faults = planFaults(20, createRandom(1)).flat();
  const counts = Object.groupBy(faults, ({ kind }) => kind);
  expect(Object.keys(counts).toSorted()).toEqual(['cut', 'freeze', 'kill']);
  expect(counts.freeze?.length).toBeLessThanOrEqual(20 / 3);
});
