import type { Random } from '../../dev/gateway-simulator/random.ts';
import { type MoodName, MOODS, WITHOUT_SESSIONS } from '../../dev/gateway-simulator/moods.ts';
import { createRandom, shuffled } from '../../dev/gateway-simulator/random.ts';
import { planOrders, type OrderPlan } from '../../dev/load/plan.ts';
import type { Disturbance, Side } from './disturbances.ts';

/** What is next: a part of the plan of one order, both by index, or something that happens to the service. */
export type Turn = { order: number; part: number } | { disturbance: Disturbance };

/** Everything that a seed determines. The same seed and number of orders give the same plan. */
export interface Plan {
  seed: number;
  orders: OrderPlan[];
  turns: Turn[];
}

export const MERCHANTS = 2;
/** The number of orders whose actions are mixed with each other. */
const ORDERS_UNDER_WAY = 10;
/** After this part of the actions there are no more faults, so that the service has time to recover. */
const DISTURBED_PART = 0.6;
/** A run with fewer orders has one restore; a larger run has one of each side. */
const ORDERS_FOR_BOTH_RESTORES = 100;

/** Plans a run: each has a kill, a restore, and faults of every kind. */
export function planOf(seed: number, orderCount: number): Plan {
  const random = createRandom(seed);
  const orders = planOrders({ count: orderCount, merchants: MERCHANTS, outcome: 'open' }, random);
  const acts = mixedActs(orders, random);
  const disturbances = disturbancesOf(orderCount, random);
  const turns = acts.flatMap((act, place) => [
    ...disturbances
      .filter(({ at }) => Math.floor(at * DISTURBED_PART * acts.length) === place)
      .map(({ disturbance }) => ({ disturbance })),
    act,
  ]);
  return { seed, orders, turns };
}

/** The actions of each order in sequence, mixed with those of orders begun about the same time. */
function mixedActs(orders: readonly OrderPlan[], random: Random): Turn[] {
  const waiting = orders.map(({ pauses }, order) => ({ order, parts: [...pauses.keys()] }));
  const underWay = waiting.splice(0, ORDERS_UNDER_WAY);
  const turns: Turn[] = [];
  while (underWay.length > 0) {
    const place = Math.floor(random.next() * underWay.length);
    const { order, parts } = underWay[place]!;
    const part = parts.shift();
    if (part !== undefined) turns.push({ order, part });
    else underWay.splice(place, 1, ...waiting.splice(0, 1));
  }
  return turns;
}

/** A disturbance and its time: from 0 to 1, within the disturbed part of the run. */
interface Timed {
  at: number;
  disturbance: Disturbance;
}

function disturbancesOf(orderCount: number, random: Random): Timed[] {
  const rounds = Math.ceil(orderCount / ORDERS_FOR_BOTH_RESTORES);
  const sides = shuffled<Side>(['postgres', 'temporal'], random);
  const restored = sides.slice(0, orderCount < ORDERS_FOR_BOTH_RESTORES ? 1 : 2);
  return [
    { at: 0, disturbance: callbackTrouble(random) },
    ...Array.from({ length: rounds }, () => [
      ...kills(random),
      ...outage(random),
      ...gatewayFault(random),
      ...endpointFault(random),
      ...suspension(random),
      { at: random.next(), disturbance: { kind: 'people' } as const },
      ...moods(random),
    ]).flat(),
    ...restored.flatMap((side, index) => restore(side, index, restored.length, random)),
  ].toSorted((one, other) => one.at - other.at);
}

function callbackTrouble(random: Random): Disturbance {
  return {
    kind: 'callbackTrouble',
    dropProbability: random.next() * 0.5,
    duplicateProbability: random.next() * 0.5,
    mostDelayMs: Math.floor(random.next() * 2000),
  };
}

const between = (least: number, most: number, random: Random) =>
  least + random.next() * (most - least);

function kills(random: Random): Timed[] {
  const both = shuffled(['worker', 'api'] as const, random);
  return both
    .slice(0, random.next() < 0.5 ? 1 : 2)
    .map((part) => ({ at: random.next(), disturbance: { kind: 'kill', part } }));
}

function outage(random: Random): Timed[] {
  const durationMs = Math.floor(between(500, 3000, random));
  return [{ at: random.next(), disturbance: { kind: 'gatewayOutage', durationMs } }];
}

function gatewayFault(random: Random): Timed[] {
  const faults = ['reset', 'error', 'drop_answer'] as const;
  const fault = faults[Math.floor(random.next() * faults.length)]!;
  const at = random.next() * 0.9;
  const probability = between(0.1, 0.6, random);
  return [
    { at, disturbance: { kind: 'gatewayFault', fault, probability } },
    { at: at + 0.1, disturbance: { kind: 'gatewayMended' } },
  ];
}

function endpointFault(random: Random): Timed[] {
  const merchant = Math.floor(random.next() * MERCHANTS);
  const fault = random.next() < 0.5 ? 'always answers 500' : 'hangs';
  const at = random.next() * 0.7;
  return [
    { at, disturbance: { kind: 'endpointFault', merchant, fault } },
    { at: at + between(0.1, 0.3, random), disturbance: { kind: 'endpointMended', merchant } },
  ];
}

function suspension(random: Random): Timed[] {
  const merchant = Math.floor(random.next() * MERCHANTS);
  const at = random.next() * 0.8;
  return [
    { at, disturbance: { kind: 'suspended', merchant } },
    { at: at + between(0.02, 0.1, random), disturbance: { kind: 'activated', merchant } },
  ];
}

/** Each mood of the gateway once. */
function moods(random: Random): Timed[] {
  return (Object.keys(MOODS) as MoodName[]).flatMap((mood): Timed[] => {
    const at = random.next() * 0.7;
    if (WITHOUT_SESSIONS.includes(mood)) {
      const durationMs = Math.floor(between(500, 3000, random));
      return [{ at, disturbance: { kind: 'shortMood', mood, durationMs } }];
    }
    return [
      { at, disturbance: { kind: 'moodBegins', mood } },
      { at: at + between(0.05, 0.3, random), disturbance: { kind: 'moodEnds', mood } },
    ];
  });
}

/** Distributes disturbances so that each is in a separate part of the run. */
function restore(side: Side, index: number, parts: number, random: Random): Timed[] {
  const copied = between(0.05, 0.4, random);
  const restored = copied + between(0.05, 0.4, random);
  return [
    { at: (index + copied) / parts, disturbance: { kind: 'copy', side } },
    { at: (index + restored) / parts, disturbance: { kind: 'restore', side } },
  ];
}
