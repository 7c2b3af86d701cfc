import { MOODS, type MoodName } from '../gateway-simulator/moods.ts';
import { createRandom, shuffled, type Random } from '../gateway-simulator/random.ts';
import { planOrders, type OrderPlan } from '../load/plan.ts';
import type { MemberName } from '../production-like/start.ts';
import type { Side } from './copies.ts';
import type { Cut, Fault, Turn } from './faults.ts';

/** The merchants of a run by outcome. */
export const MERCHANTS = { known: 6, open: 2 } as const;

/** Turns, one after the other. Lanes run beside each other and beside the orders. */
export interface Lane {
  readonly turns: readonly Turn[];
  /**
   * Whether the service must serve orders again within a time after each turn; or not; or the turns are repeated until
   * all orders and other lanes have ended.
   */
  readonly kind: 'measured' | 'once' | 'background';
}

/** The size of a run, and what determines it. */
export interface RunSize {
  readonly orders: number;
  /** The number of kills, freezes and cut-offs of a run whose outcome is known; the others have rounds of each kind. */
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
export function planRun(size: RunSize): RunPlan {
  const { orders: count, outcome } = size;
  const random = createRandom(size.seed);
  const orders = planOrders({ count, merchants: MERCHANTS[outcome], outcome }, random);
  const background: Lane[] = [...planMoods(outcome, random), suspensionsOf(outcome)];
  if (outcome === 'open') {
    const overMs = count * MS_FOR_EACH_ORDER;
    return { orders, overMs, lanes: [...planOpenLanes(size, overMs, random), ...background] };
  }
  const turns = planFaults(size.faults, random).map((faults) => ({ waitMs: PAUSE_MS, faults }));
  return {
    orders,
    lanes: [{ kind: 'measured', turns }, ...background, { kind: 'background', turns: PEOPLE }],
    overMs: turns.reduce((sum, turn) => sum + durationOf(turn) + BACK_AFTER_MS + PAUSE_MS, 0),
  };
}

const MS_FOR_EACH_ORDER = 1500;
/** Between the service being back and the next fault. */
const PAUSE_MS = 5000;
/** An estimate, by which the orders are distributed over the run. */
const BACK_AFTER_MS = 5000;

/** The last merchant is suspended again and again. */
const suspensionsOf = (outcome: RunSize['outcome']): Lane => ({
  kind: 'background',
  turns: [
    {
      waitMs: 25_000,
      faults: [{ kind: 'suspended', merchant: MERCHANTS[outcome] - 1, durationMs: 10_000 }],
    },
  ],
});

const MOST_ROUNDS = 30;
/** The pauses grow, so that a long run has few more rounds than a short one. */
const PEOPLE: readonly Turn[] = Array.from({ length: MOST_ROUNDS }, (_, index) => ({
  waitMs: index === 0 ? 0 : 5000 * 1.4 ** (index - 1),
  faults: [{ kind: 'people' }],
}));

const MOOD_NAMES = Object.keys(MOODS) as MoodName[];

const WORKERS = ['worker-1', 'worker-2'] as const;
const SERVICE = ['api-1', 'api-2', ...WORKERS] as const;
const VICTIMS: readonly MemberName[] = [...SERVICE, 'temporal', 'postgres', 'gateway-simulator'];
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

/** A random whole number from one below another. */
const between = (least: number, most: number, random: Random) =>
  Math.floor(least + random.next() * (most - least));

/** So many of a list in a random order: each of them once, before one is there again. */
function drawn<Item>(items: readonly Item[], count: number, random: Random): Item[] {
  const rounds = Array.from({ length: Math.ceil(count / items.length) });
  return rounds.flatMap(() => shuffled(items, random)).slice(0, count);
}

/**
 * Plans kills, freezes and cut-offs, one or two at a time. The same random numbers give the same plan. Less than a quarter
 * are freezes, which take the longest, and the second of two is short.
 */
function planFaults(count: number, random: Random): Fault[][] {
  const kills = VICTIMS.map((victim): Fault => ({ kind: 'kill', victim }));
  const cuts = CUTS.map((cut): Fault => {
    const how = random.next() < 0.5 ? 'refuse' : 'hang';
    return { kind: 'cut', cut, how, durationMs: between(4000, 12_000, random) };
  });
  const freezes = VICTIMS.map((victim): Fault => {
    return { kind: 'freeze', victim, durationMs: FREEZE_MS };
  });
  const faults = drawn([...kills, ...kills, ...cuts, ...freezes], count, random);
  return faults.map((first) =>
    random.next() < TWO_AT_ONCE ? [first, ...drawn([...kills, ...cuts], 1, random)] : [first],
  );
}

/** How long the faults of a turn last together, in milliseconds. */
const durationOf = ({ faults }: Turn) =>
  Math.max(...faults.map((fault) => ('durationMs' in fault ? fault.durationMs : 0)));

/** The moods that a run with a known outcome does not set for all payments, and why. */
export const NOT_IN_KNOWN = {
  authorizedPayments: 'the helper that pays an order is refused; an act sets its switch',
  failedTransfers: 'a transfer that failed is made again an hour later, after the run',
} as const satisfies Partial<Record<MoodName, string>>;

/** Beside each other. */
const LANES_OF_MOODS = { known: 1, open: 3 } as const;

/** Plans each mood once, to be repeated. */
function planMoods(outcome: RunSize['outcome'], random: Random): Lane[] {
  const moods = MOOD_NAMES.filter(
    (mood) => outcome === 'open' || !Object.hasOwn(NOT_IN_KNOWN, mood),
  );
  const turns = shuffled(moods, random).map((mood): Turn => {
    const durationMs = between(2000, 6000, random);
    return { waitMs: 1000, faults: [{ kind: 'mood', mood, durationMs }] };
  });
  const lanes = LANES_OF_MOODS[outcome];
  return Array.from({ length: lanes }, (_, lane) => ({
    kind: 'background',
    turns: turns.filter((__, index) => index % lanes === lane),
  }));
}

/** After this part of the run there are about no more faults but moods, so that the service has time to recover. */
const DISTURBED_PART = 0.6;
const ORDERS_OF_A_ROUND = 100;

/** A run whose outcome is open has rounds of faults, which restore one side and the other in turn. */
function planOpenLanes({ orders, seed }: RunSize, overMs: number, random: Random): Lane[] {
  const sides = Array.from({ length: Math.ceil(orders / ORDERS_OF_A_ROUND) }, (_, round) =>
    (seed + round) % 2 === 0 ? 'temporal' : 'postgres',
  );
  const lanes = [
    sides.flatMap((side) => planRestore(side, random)),
    sides.flatMap(() => planOutages(random)),
  ];
  const mostMs = 2 * overMs * DISTURBED_PART;
  return [
    { kind: 'once', turns: [{ waitMs: 0, faults: [callbackTrouble(random)] }] },
    ...lanes.map((faults): Lane => {
      const waitMs = () => (random.next() * mostMs) / (faults.length + 1);
      return { kind: 'once', turns: faults.map((one) => ({ waitMs: waitMs(), faults: [one] })) };
    }),
  ];
}

const callbackTrouble = (random: Random): Fault => ({
  kind: 'callbackTrouble',
  dropProbability: random.next() * 0.5,
  duplicateProbability: random.next() * 0.5,
  mostDelayMs: between(0, 2000, random),
});

/** A restore, and what must not happen while it is made. */
function planRestore(side: Side, random: Random): Fault[] {
  const victims = shuffled(['worker-1', 'api-1'] as const, random).slice(between(0, 2, random));
  const kills = victims.map((victim): Fault => ({ kind: 'kill', victim }));
  const faults = shuffled<Fault>([{ kind: 'people' }, ...kills], random);
  const copied = between(0, faults.length + 1, random);
  const restored = between(copied, faults.length + 1, random);
  return faults
    .toSpliced(restored, 0, { kind: 'restore', side })
    .toSpliced(copied, 0, { kind: 'copy', side });
}

/** Outages of the gateway and of an endpoint. */
function planOutages(random: Random): Fault[] {
  const [fault = 'error'] = shuffled(['reset', 'error', 'drop_answer'] as const, random);
  const outage = { from: ['api-1', 'worker-1'], to: 'gateway-simulator' } as const;
  const faults: Fault[] = [
    { kind: 'cut', cut: outage, how: 'refuse', durationMs: between(500, 3000, random) },
    {
      kind: 'gatewayFault',
      fault,
      probability: 0.1 + random.next() * 0.5,
      durationMs: between(2000, 6000, random),
    },
    {
      kind: 'endpointFault',
      merchant: between(0, MERCHANTS.open, random),
      fault: random.next() < 0.5 ? 'always answers 500' : 'hangs',
      durationMs: between(2000, 9000, random),
    },
  ];
  return shuffled(faults, random);
}
