import { MOODS, WITHOUT_SESSIONS, type MoodName } from '../gateway-simulator/moods.ts';
import { shuffled, type Random } from '../gateway-simulator/random.ts';
import type { Side } from './copies.ts';
import type { Fault, Turn } from './faults.ts';

/** The merchants of a run by outcome. The last one of a run with a known outcome is suspended again and again. */
export const MERCHANTS = { known: 6, open: 2 } as const;

const MOOD_NAMES = Object.keys(MOODS) as MoodName[];
/** After this part of the run there are no more faults, so that the service has time to recover. */
const DISTURBED_PART = 0.6;
/** A run with fewer orders has one restore; a larger run has one of each side. */
const ORDERS_FOR_BOTH_RESTORES = 100;

/** A random number between two. */
const between = (least: number, most: number, random: Random) =>
  least + random.next() * (most - least);

/** A random whole number from one below another. */
export const wholeMs = (least: number, most: number, random: Random) =>
  Math.floor(between(least, most, random));

/** A fault and its time: from 0 to 1, within the disturbed part of the run. */
interface Timed {
  readonly at: number;
  readonly fault: Fault;
}

/** A run whose outcome is open has a kill, a restore, and faults of every kind. */
export function planOpenTurns(
  { orders: orderCount, seed, overMs }: { orders: number; seed: number; overMs: number },
  random: Random,
): Turn[] {
  const rounds = Math.ceil(orderCount / ORDERS_FOR_BOTH_RESTORES);
  const sides: readonly Side[] =
    seed % 2 === 0 ? ['temporal', 'postgres'] : ['postgres', 'temporal'];
  const restored = sides.slice(0, orderCount < ORDERS_FOR_BOTH_RESTORES ? 1 : 2);
  const disturbedMs = overMs * DISTURBED_PART;
  const timed = [
    { at: 0, fault: callbackTrouble(random) },
    ...Array.from({ length: rounds }, () => faultsOfRound(disturbedMs, random)).flat(),
    ...restored.flatMap((side, index) => restore(side, index, restored.length, random)),
  ].toSorted((one, other) => one.at - other.at);
  return timed.map(({ at, fault }, index) => ({
    waitMs: (at - (timed[index - 1]?.at ?? 0)) * disturbedMs,
    faults: [fault],
  }));
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
