import { expect, test } from 'vitest';
import { NOT_IN_KNOWN, planRun, type RunPlan } from '../../dev/faults/plan.ts';
import { MOODS, WITHOUT_MOOD } from '../../dev/gateway-simulator/moods.ts';
import { SWITCH_DEFAULTS } from '../../dev/gateway-simulator/switches.ts';
import { actsWith } from '../../dev/load/acts.ts';
import { replay } from '../../dev/load/oracle/replay.ts';
import type { Command, Step } from '../../src/domain/index.ts';
import { firstChange, decide } from '../../src/domain/index.ts';

const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 10, 20, 12);
const TERMS = {
  environment: 'sandbox',
  completionWindowMs: 24 * HOUR_MS,
  disputeAnswerMs: 72 * HOUR_MS,
} as const;

/** The steps of an order that got these commands, a minute apart. */
function stepsAfter(commands: readonly Command[]): Step[] {
  const created = firstChange(TERMS, NOW_MS, NOW_MS + 24 * HOUR_MS);
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

test('a payment that fails while a cancel closes the session is legal', () => {
  const [created, ...closing] = stepsAfter([{ type: 'cancel' }, { type: 'failPayment' }]);
  const pendingOperation = { kind: 'closing', cause: 'cancel', commandId: 'cmd_1' } as const;
  const steps = [created!, ...closing.map((step) => ({ ...step, pendingOperation }))];
  expect(replay(TERMS, recorded(steps)).fault).toBeUndefined();
});

test('a dispute after the deadline is illegal, unless its row was written by a repeat after a restore', () => {
  const [created, paid, delivered, disputed] = recorded(stepsAfter(LIFE.slice(1, 4)));
  const deadlineMs = delivered?.step.deadline?.atMs ?? 0;
  const faultOf = (atMs: number, receivedAtMs: number) => {
    const deadline = { kind: 'dispute_answer', atMs: atMs + TERMS.disputeAnswerMs } as const;
    const step = { ...disputed!.step, atMs, deadline };
    return replay(TERMS, [created!, paid!, delivered!, { step, receivedAtMs }]).fault;
  };
  expect(faultOf(deadlineMs + 1, deadlineMs)).toMatch('is not legal');
  expect(faultOf(deadlineMs + 1, deadlineMs - 1)).toBeUndefined();
  expect(faultOf(deadlineMs - 1, deadlineMs + 1)).toBeUndefined();
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

const planOf = (outcome: 'known' | 'open', seed = 1) =>
  planRun({ orders: 30, faults: 20, seed, outcome });

const faultsOf = ({ lanes }: RunPlan) =>
  lanes.flatMap(({ turns }) => turns).flatMap(({ faults }) => faults);

/** The moods in faults. */
const moodsOf = (plan: RunPlan) =>
  faultsOf(plan).flatMap((fault) => (fault.kind === 'mood' ? [fault.mood] : []));

test.for(['known', 'open'] as const)(
  'the same seed gives the same orders and faults; another seed gives others: %s outcome',
  (outcome) => {
    const plan = planOf(outcome, 7);
    const other = planOf(outcome, 8);
    expect(planOf(outcome, 7)).toEqual(plan);
    expect(other.orders).not.toEqual(plan.orders);
    expect(faultsOf(other)).not.toEqual(faultsOf(plan));
    expect(moodsOf(other)).not.toEqual(moodsOf(plan));
  },
);

test.for(['known', 'open'] as const)(
  'a plan has each act that is possible if its outcome is %s, and knows its end only then',
  (outcome) => {
    const possible = actsWith(outcome).map(({ name }) => name);
    const { orders } = planRun({ orders: 100, faults: 0, seed: 3, outcome });
    const planned = new Set(orders.flatMap(({ acts }) => acts));
    expect([...planned].toSorted()).toEqual(possible.toSorted());
    const known = orders.filter(({ ends }) => ends);
    expect(known).toHaveLength(outcome === 'known' ? orders.length : 0);
  },
);

test('a run has kills, freezes and cut-offs, at most a third of them freezes', () => {
  const counts = Object.groupBy(faultsOf(planOf('known')), ({ kind }) => kind);
  const { kill = [], freeze = [], cut = [] } = counts;
  expect(Math.min(kill.length, freeze.length, cut.length)).toBeGreaterThan(0);
  expect(freeze.length).toBeLessThanOrEqual(20 / 3);
});

test('each switch of the gateway simulator is set by a mood, or there is a reason why not', () => {
  const inMoods = new Set(Object.values(MOODS).flatMap((switches) => Object.keys(switches)));
  const known = [...inMoods, ...Object.keys(WITHOUT_MOOD)].toSorted();
  expect(known).toEqual(Object.keys(SWITCH_DEFAULTS).toSorted());
});

test('the randomised test has each mood, and so has chaos, or there is a reason why not', () => {
  const all = Object.keys(MOODS).toSorted();
  expect(moodsOf(planOf('open')).toSorted()).toEqual(all);
  const inChaos = [...moodsOf(planOf('known')), ...Object.keys(NOT_IN_KNOWN)];
  expect(inChaos.toSorted()).toEqual(all);
});

test('one of the two seeds of the long suite restores PostgreSQL, and the other one Temporal', () => {
  const restored = [5, 10].map((seed) =>
    faultsOf(planOf('open', seed)).flatMap((fault) => (fault.kind === 'restore' ? fault.side : [])),
  );
  expect(restored).toEqual([['postgres'], ['temporal']]);
});
