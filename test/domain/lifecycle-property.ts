import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Command, OrderState, Step } from '../../src/domain/index.ts';
import { createOrder, decide, isFinal, REFUSALS } from '../../src/domain/index.ts';
import type { Facts } from './lifecycle-model.ts';
import { factsAtCreation, LINK_MS, obey, statusOf } from './lifecycle-model.ts';
import { ENDING, HOUR_MS, NOW_MS, orderIn, STATUSES } from './order-states.ts';

/** A dispute has the time since its receipt; every other entry is the command itself. */
type Happening =
  | { command: Exclude<Command, { type: 'dispute' }> }
  | { disputeReceivedMsAgo: number }
  | { hoursPass: number }
  | 'the deadline comes'
  | 'the gateway has done it';

type PlainCommand = Exclude<Command['type'], 'dispute' | 'advance'>;

/** Every command that has no fields of its own; those that move an order forward are listed twice. */
const plainCommand = fc.constantFrom<PlainCommand[]>(
  ...Object.keys(REFUSALS).filter(
    (type): type is PlainCommand => type !== 'dispute' && type !== 'advance',
  ),
  'pay',
  'deliver',
  'submitEvidence',
);
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 10, arbitrary: plainCommand.map((type) => ({ command: { type } })) },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(0, 1, HOUR_MS, 30 * HOUR_MS)
      .map((disputeReceivedMsAgo) => ({ disputeReceivedMsAgo })),
  },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 2_592_000 })
      .map((seconds) => ({ command: { type: 'advance' as const, seconds } })),
  },
  { weight: 2, arbitrary: fc.constantFrom(1, 20, 50, 100).map((hoursPass) => ({ hoursPass })) },
  {
    weight: 5,
    arbitrary: fc.constantFrom<Happening>('the deadline comes', 'the gateway has done it'),
  },
);

/** The order by the reducer, the order by the model, and every recorded step. */
interface Pair {
  nowMs: number;
  /** Disputes that it had before these steps: five in one life are rare. */
  earlierDisputes: number;
  state: OrderState;
  facts: Facts;
  steps: Step[];
}

function begin(environment: 'sandbox' | 'production', earlierDisputes: number): Pair {
  const terms = { ...orderIn('ACCEPTED').terms, environment };
  const { state, step } = createOrder(terms, NOW_MS, NOW_MS + LINK_MS);
  return {
    nowMs: NOW_MS,
    earlierDisputes,
    state: { ...state, disputeCount: earlierDisputes },
    facts: factsAtCreation(environment === 'sandbox', NOW_MS, earlierDisputes),
    steps: [step],
  };
}

function happen(pair: Pair, what: Happening): void {
  const { state } = pair;
  if (what === 'the deadline comes') {
    pair.nowMs = Math.max(pair.nowMs, state.deadline?.atMs ?? 0);
  } else if (what === 'the gateway has done it') {
    if (state.pendingOperation) command(pair, ENDING[state.pendingOperation.kind]);
  } else if ('hoursPass' in what) {
    pair.nowMs += what.hoursPass * HOUR_MS;
  } else if ('command' in what) {
    command(pair, what.command);
  } else {
    command(pair, { type: 'dispute', receivedAtMs: pair.nowMs - what.disputeReceivedMsAgo });
  }
}

function command(pair: Pair, asked: Command): void {
  const decision = decide(pair.state, asked, pair.nowMs);
  const obeyed = obey(pair.facts, asked, pair.nowMs);
  assert.equal(decision.outcome === 'refused', obeyed === undefined, `${asked.type} refused?`);
  if (decision.outcome === 'changed') {
    pair.state = decision.state;
    pair.steps.push(decision.step);
  }
  pair.facts = obeyed ?? pair.facts;
}

function assertSame({ state, facts, steps }: Pair): void {
  const events = steps.flatMap(({ event }) => event?.type ?? []);
  const { status, pendingOperation, deadline } = state;
  assert.deepEqual(
    [status, pendingOperation?.kind ?? 'nothing', deadline?.atMs, events],
    [statusOf(facts), facts.doing, facts.alarmAtMs, facts.events],
  );
}

/** Checks what must be true for every order at any time, independent of the model. */
function assertSound({ state, steps, earlierDisputes }: Pair): void {
  const events = steps.flatMap(({ event }) => event ?? []);
  const count = (type: string) => events.filter((event) => event.type === type).length;
  const paid = count('PAYMENT_SUCCESS');
  assert.ok(events.every(({ sequence }, index) => sequence === index + 1));
  assert.ok(steps.every(({ number }, index) => number === index + 1));
  assert.equal(state.disputeCount, earlierDisputes + count('DISPUTE_RAISED'));
  assert.ok(paid <= 1 && count('ORDER_COMPLETED') + count('REFUND_PROCESSED') <= paid);
  if (isFinal(state.status))
    assert.deepEqual([state.pendingOperation, state.deadline], [null, null]);
}

/** Checks that the order ends with a merchant who delivers, a gateway that responds and time that passes. */
function assertCanEnd(pair: Pair): void {
  let { state } = pair;
  for (let moves = 0; moves < 6 && !isFinal(state.status); moves += 1) {
    const atMs = Math.max(pair.nowMs, state.deadline?.atMs ?? 0);
    const asked = state.status === 'PAID' ? 'deliver' : 'expire';
    const decision = decide(
      state,
      state.pendingOperation ? ENDING[state.pendingOperation.kind] : { type: asked },
      atMs,
    );
    if (decision.outcome === 'changed') state = decision.state;
  }
  assert.ok(isFinal(state.status), `${state.status} cannot end`);
}

/**
 * Lets random things happen to so many orders, one after another.
 *
 * @param leastVisits how many of them must reach each status: only then the comparison is meaningful
 */
export function letThingsHappen(orderCount: number, leastVisits: number): void {
  const visits = new Map<string, number>();
  let lives = 0;
  fc.assert(
    fc.property(
      fc.constantFrom('sandbox' as const, 'sandbox' as const, 'production' as const),
      fc.constantFrom(0, 0, 3, 4),
      fc.array(happening, { minLength: 1, maxLength: 60, size: 'max' }),
      (environment, earlierDisputes, happenings) => {
        const pair = begin(environment, earlierDisputes);
        for (const what of happenings) {
          happen(pair, what);
          assertSame(pair);
        }
        assertSound(pair);
        assertCanEnd(pair);
        lives += 1;
        for (const place of new Set(pair.steps.map(placeOf))) {
          visits.set(place, (visits.get(place) ?? 0) + 1);
        }
      },
    ),
    { numRuns: orderCount },
  );
  expect(lives).toBe(orderCount);
  const places = [...STATUSES, ...REVIEWED];
  expect(places.filter((place) => (visits.get(place) ?? 0) < leastVisits)).toEqual([]);
}

/** An operator decides the dispute, before and after the merchant's evidence. */
const REVIEWED = ['DISPUTE_RAISED under review', 'EVIDENCE_SUBMITTED of the fifth'];

/** The status after a step, or what is special about it. */
function placeOf({ kind, status, disputeCount }: Step): string {
  const isReviewed = status === 'DISPUTE_UNDER_REVIEW' && disputeCount > 4;
  if (isReviewed && kind === 'EVIDENCE_SUBMITTED') return 'EVIDENCE_SUBMITTED of the fifth';
  return isReviewed && kind === 'DISPUTE_RAISED' ? 'DISPUTE_RAISED under review' : status;
}
