import { MOODS, WITHOUT_SESSIONS, type MoodName } from '../gateway-simulator/moods.ts';
import { createRandom, shuffled, type Random } from '../gateway-simulator/random.ts';
import { planOrders, type OrderPlan } from '../load/plan.ts';
import type { MemberName } from '../production-like/start.ts';
import type { Side } from './copies.ts';
import type { Cut, Fault, Turn } from './faults.ts';

/** The merchants of a run by outcome. The last one of a run with a known outcome is suspended again and again. */
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
    return { orders, overMs, lanes: planOpenLanes({ count, seed, overMs }, random) };
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

/** A random number between two. */
const between = (least: number, most: number, random: Random) =>
  least + random.next() * (most - least);

/** A random whole number from one below another. */
const wholeMs = (least: number, most: number, random: Random) =>
  Math.floor(between(least, most, random));

/** So many of a list in a random order: each of them once, before one is there again. */
function drawn<Item>(items: readonly Item[], count: number, random: Random): Item[] {
  const rounds = Array.from({ length: Math.ceil(count / items.length) });
  return rounds.flatMap(() => shuffled(items, random)).slice(0, count);
}

/**
 * Plans kills, freezes and cut-offs, one or two at a time. The same random numbers give the same plan. Less than a quarter
 * are freezes, which take the longest, and the second of two is short.
 */
export function planFaults(count: number, random: Random): Fault[][] {
  const kills = VICTIMS.map((victim): Fault => ({ kind: 'kill', victim }));
  const cuts = CUTS.map((cut): Fault => {
    const how = random.next() < 0.5 ? 'refuse' : 'hang';
    return { kind: 'cut', cut, how, durationMs: wholeMs(4000, 12_000, random) };
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

/** Plans each mood once. The same random numbers give the same plan. */
export const planMoods = (random: Random): Turn[] =>
  shuffled(
    MOOD_NAMES.filter((mood) => !Object.hasOwn(NOT_IN_KNOWN, mood)),
    random,
  ).map((mood) => ({
    waitMs: 1000,
    faults: [{ kind: 'mood', mood, durationMs: wholeMs(2000, 6000, random) }],
  }));

/** After this part of the run there are no more faults, so that the service has time to recover. */
const DISTURBED_PART = 0.6;
/** A run with fewer orders has one restore; a larger run has one of each side. */
const ORDERS_FOR_BOTH_RESTORES = 100;

/** A fault and its time: from 0 to 1, within the disturbed part of the run. */
interface Timed {
  readonly at: number;
  readonly fault: Fault;
}

/**
 * A run whose outcome is open has a kill, a restore, and faults of every kind. Those that last are each in a lane of their
 * own, the others in one.
 */
function planOpenLanes(
  { count, seed, overMs }: { count: number; seed: number; overMs: number },
  random: Random,
): Lane[] {
  const rounds = Math.ceil(count / ORDERS_FOR_BOTH_RESTORES);
  const sides: readonly Side[] =
    seed % 2 === 0 ? ['temporal', 'postgres'] : ['postgres', 'temporal'];
  const restored = sides.slice(0, count < ORDERS_FOR_BOTH_RESTORES ? 1 : 2);
  const disturbedMs = overMs * DISTURBED_PART;
  const timed = [
    { at: 0, fault: callbackTrouble(random) },
    ...Array.from({ length: rounds }, () => faultsOfRound(disturbedMs, random)).flat(),
    ...restored.flatMap((side, index) => restore(side, index, restored.length, random)),
  ].toSorted((one, other) => one.at - other.at);
  const laneOf = (own: readonly Timed[]): Lane => ({
    kind: 'once',
    turns: own.map(({ at, fault }, index) => ({
      waitMs: (at - (own[index - 1]?.at ?? 0)) * disturbedMs,
      faults: [fault],
    })),
  });
  const lasts = ({ fault }: Timed) => 'durationMs' in fault;
  const lasting = timed.filter(lasts).map((one) => laneOf([one]));
  return [laneOf(timed.filter((one) => !lasts(one))), ...lasting];
}

const callbackTrouble = (random: Random): Fault => ({
  kind: 'callbackTrouble',
  dropProbability: random.next() * 0.5,
  duplicateProbability: random.next() * 0.5,
  mostDelayMs: wholeMs(0, 2000, random),
});

function faultsOfRound(disturbedMs: number, random: Random): Timed[] {
  const victims = shuffled(['worker-1', 'api-1'] as const, random);
  const [fault = 'error'] = shuffled(['reset', 'error', 'drop_answer'] as const, random);
  const outage = { from: ['api-1', 'worker-1'], to: 'gateway-simulator' } as const;
  const part = (least: number, most: number) => between(least, most, random) * disturbedMs;
  const merchantOf = () => Math.floor(random.next() * MERCHANTS.open);
  const faults: Fault[] = [
    ...victims
      .slice(0, random.next() < 0.5 ? 1 : 2)
      .map((victim) => ({ kind: 'kill', victim }) as const),
    { kind: 'cut', cut: outage, how: 'refuse', durationMs: wholeMs(500, 3000, random) },
    { kind: 'people' },
    {
      kind: 'gatewayFault',
      fault,
      probability: between(0.1, 0.6, random),
      durationMs: part(0.1, 0.1),
    },
    {
      kind: 'endpointFault',
      merchant: merchantOf(),
      fault: random.next() < 0.5 ? 'always answers 500' : 'hangs',
      durationMs: part(0.1, 0.3),
    },
    { kind: 'suspended', merchant: merchantOf(), durationMs: part(0.02, 0.1) },
    ...MOOD_NAMES.map((mood) => {
      const isShort = WITHOUT_SESSIONS.includes(mood);
      const durationMs = isShort ? wholeMs(500, 3000, random) : part(0.05, 0.3);
      return { kind: 'mood', mood, durationMs } as const;
    }),
  ];
  return faults.map((one) => {
    const lastsMs = 'durationMs' in one ? one.durationMs : 0;
    return { at: random.next() * Math.max(0, 1 - lastsMs / disturbedMs), fault: one };
  });
}

/** Distributes restores so that each is in a separate part of the run. */
function restore(side: Side, index: number, parts: number, random: Random): Timed[] {
  const copied = between(0.05, 0.4, random);
  const restored = copied + between(0.05, 0.4, random);
  return [
    { at: (index + copied) / parts, fault: { kind: 'copy', side } },
    { at: (index + restored) / parts, fault: { kind: 'restore', side } },
  ];
}
