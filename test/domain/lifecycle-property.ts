import assert from 'node:assert/strict';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { Command, Step } from '../../src/domain/index.ts';
import { decide, isFinal, ORDER_STATUSES } from '../../src/domain/index.ts';
import type { Pair } from './lifecycle-walk.ts';
import { command, COMMAND_TYPES, createPair, ENDINGS } from './lifecycle-walk.ts';

const HOUR_MS = 3_600_000;

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
  ...COMMAND_TYPES.filter((type): type is PlainCommand => type !== 'dispute' && type !== 'advance'),
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

/** An order, and every step that it has recorded. */
interface Life extends Pair {
  /** Disputes that it had before these steps: five in one life are rare. */
  earlierDisputes: number;
  steps: Step[];
}

function begin(environment: 'sandbox' | 'production', earlierDisputes: number): Life {
  const { step, ...pair } = createPair(environment === 'sandbox', earlierDisputes);
  return { ...pair, earlierDisputes, steps: [step] };
}

function happen(life: Life, what: Happening): void {
  const { state } = life;
  if (what === 'the deadline comes') {
    life.nowMs = Math.max(life.nowMs, state.deadline?.atMs ?? 0);
  } else if (what === 'the gateway has done it') {
    if (state.pendingOperation) ask(life, { type: ENDINGS[state.pendingOperation.kind] });
  } else if ('hoursPass' in what) {
    life.nowMs += what.hoursPass * HOUR_MS;
  } else if ('command' in what) {
    ask(life, what.command);
  } else {
    ask(life, { type: 'dispute', receivedAtMs: life.nowMs - what.disputeReceivedMsAgo });
  }
}

function ask(life: Life, asked: Command): void {
  const change = command(life, asked);
  if (!change) return;
  life.state = change.state;
  life.facts = change.facts;
  life.steps.push(change.step);
}

/** Checks what must be true for every order at any time, independent of the model. */
function assertSound({ state, steps, earlierDisputes }: Life): void {
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
    const type = state.pendingOperation ? ENDINGS[state.pendingOperation.kind] : asked;
    const decision = decide(state, { type }, atMs);
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
        const life = begin(environment, earlierDisputes);
        for (const what of happenings) happen(life, what);
        assertSound(life);
        assertCanEnd(life);
        lives += 1;
        for (const place of new Set(life.steps.map(placeOf))) {
          visits.set(place, (visits.get(place) ?? 0) + 1);
        }
      },
    ),
    { numRuns: orderCount },
  );
  expect(lives).toBe(orderCount);
  const places = [...ORDER_STATUSES, ...REVIEWED];
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
