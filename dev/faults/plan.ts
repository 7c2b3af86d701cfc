import { MOODS, type MoodName } from '../gateway-simulator/moods.ts';
import { createRandom, shuffled, type Random } from '../gateway-simulator/random.ts';
import { planOrders, type OrderPlan } from '../load/plan.ts';
import type { MemberName } from '../production-like/start.ts';
import type { Cut, Fault, Turn } from './faults.ts';
import { MERCHANTS, planOpenTurns, wholeMs } from './open-plan.ts';

/** Turns, one after the other. Lanes run beside each other and beside the orders. */
export interface Lane {
  readonly turns: readonly Turn[];
  /**
   * Whether the service must serve orders again within a time after each turn; or only ready processes are
   * awaited; or the turns are repeated until all orders and other lanes have ended.
   */
  readonly kind: 'measured' | 'once' | 'background';
}

/** The size of a run, and what determines it. */
export interface RunSize {
  readonly orders: number;
  /** The number of kills, freezes and cut-offs of a run whose outcome is known; the others have one of each kind. */
  readonly faults: number;
  readonly seed: number;
  /** See LoadDeps. */
  readonly outcome: 'known' | 'open';
}

/** Everything that a seed determines: the same size gives the same plan. */
export interface RunPlan {
  readonly orders: readonly OrderPlan[];
  readonly lanes: readonly Lane[];
  /** Orders are begun evenly over this time. */
  readonly overMs: number;
}

/** Plans a run. */
export function planRun({ orders: count, faults, seed, outcome }: RunSize): RunPlan {
  const random = createRandom(seed);
  const orders = planOrders({ count, merchants: MERCHANTS[outcome], outcome }, random);
  if (outcome === 'open') {
    const overMs = count * MS_FOR_EACH_ORDER;
    const turns = planOpenTurns({ orders: count, seed, overMs }, random);
    return { orders, overMs, lanes: [{ kind: 'once', turns }] };
  }
  const turns = planFaults(faults, random).map((some) => ({ waitMs: PAUSE_MS, faults: some }));
  const moods = planMoods(random);
  return {
    orders,
    lanes: [
      { kind: 'measured', turns },
      { kind: 'background', turns: moods },
      { kind: 'background', turns: SUSPENSIONS },
      { kind: 'background', turns: PEOPLE },
    ],
    overMs: turns.reduce((sum, turn) => sum + durationOf(turn) + BACK_AFTER_MS + PAUSE_MS, 0),
  };
}

const MS_FOR_EACH_ORDER = 1500;
/** Between the service being back and the next fault. */
const PAUSE_MS = 5000;
/** An estimate, by which the orders are distributed over the run. */
const BACK_AFTER_MS = 5000;

const SUSPENSIONS: readonly Turn[] = [
  {
    waitMs: 25_000,
    faults: [{ kind: 'suspended', merchant: MERCHANTS.known - 1, durationMs: 10_000 }],
  },
];

const MOST_ROUNDS = 30;
/** The pauses grow: each act of an operator alone is mailed to all operators so far. */
const PEOPLE: readonly Turn[] = Array.from({ length: MOST_ROUNDS }, (_, index) => ({
  waitMs: index === 0 ? 0 : 5000 * 1.4 ** (index - 1),
  faults: [{ kind: 'people' }],
}));

const WORKERS = ['worker-1', 'worker-2'] as const;
const SERVICE = ['api-1', 'api-2', ...WORKERS] as const;
const VICTIMS: readonly MemberName[] = [
  ...WORKERS,
  'api-1',
  'api-2',
  'temporal',
  'postgres',
  'gateway-simulator',
];
const CUTS: readonly Cut[] = [
  { from: [...SERVICE, 'temporal'], to: 'postgres' },
  { from: SERVICE, to: 'temporal' },
  { from: SERVICE, to: 'gateway-simulator' },
  { from: ['api-1'], to: 'postgres' },
  { from: ['api-2'], to: 'temporal' },
  { from: ['worker-1'], to: 'postgres' },
  { from: ['worker-2'], to: 'temporal' },
  { from: ['worker-1'], to: 'gateway-simulator' },
  { from: WORKERS, to: 'postgres' },
  { from: WORKERS, to: 'temporal' },
  { from: ['temporal'], to: 'postgres' },
];

const FREEZE_MS = 20_000;
const TWO_AT_ONCE = 0.15;
/** The kinds of faults, over and over: a quarter of them are freezes, which take the longest. */
const KINDS = ['kill', 'cut', 'kill', 'freeze'] as const;

/** Draws from a shuffled list, and shuffles it again when it is empty: each is drawn equally often. */
function drawFrom<Item>(items: readonly Item[], random: Random): () => Item {
  let left: Item[] = [];
  return () => {
    if (left.length === 0) left = shuffled(items, random);
    const drawn = left.pop();
    if (drawn === undefined) throw new Error('There is nothing to draw from');
    return drawn;
  };
}

/** Plans kills, freezes and cut-offs, one or two at a time. The same random numbers give the same plan. */
export function planFaults(count: number, random: Random): Fault[][] {
  const drawKill = drawFrom(VICTIMS, random);
  const drawFreeze = drawFrom(VICTIMS, random);
  const drawCut = drawFrom(CUTS, random);
  const drawKind = drawFrom(KINDS, random);
  const draw = (kind: (typeof KINDS)[number]): Fault => {
    if (kind === 'kill') return { kind, victim: drawKill() };
    if (kind === 'freeze') return { kind, victim: drawFreeze(), durationMs: FREEZE_MS };
    const how = random.next() < 0.5 ? 'refuse' : 'hang';
    return { kind, cut: drawCut(), how, durationMs: wholeMs(4000, 12_000, random) };
  };
  return Array.from({ length: count }, () => {
    const first = draw(drawKind());
    // The second one is short.
    return random.next() < TWO_AT_ONCE
      ? [first, draw(random.next() < 0.5 ? 'kill' : 'cut')]
      : [first];
  });
}

/** How long the faults of a turn last together, in milliseconds. */
const durationOf = ({ faults }: Turn) =>
  Math.max(...faults.map((fault) => ('durationMs' in fault ? fault.durationMs : 0)));

/** The moods that a run with a known outcome does not set for all payments, and why. */
export const NOT_IN_KNOWN = {
  pendingRefunds: 'the acts of single orders set its switch, and wait for its refunds',
  authorizedPayments: 'the helper that pays an order is refused; an act sets its switch',
  failedTransfers: 'a transfer that failed is made again an hour later, after the run',
} as const satisfies Partial<Record<MoodName, string>>;

const MOOD_NAMES = Object.keys(MOODS) as MoodName[];

/** Plans each mood once. The same random numbers give the same plan. */
export const planMoods = (random: Random): Turn[] =>
  shuffled(
    MOOD_NAMES.filter((mood) => !Object.hasOwn(NOT_IN_KNOWN, mood)),
    random,
  ).map((mood) => ({
    waitMs: 1000,
    faults: [{ kind: 'mood', mood, durationMs: wholeMs(2000, 6000, random) }],
  }));
