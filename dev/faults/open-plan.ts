import { MOODS, WITHOUT_SESSIONS, type MoodName } from '../gateway-simulator/moods.ts';
import { shuffled, type Random } from '../gateway-simulator/random.ts';
import type { Side } from './copies.ts';
import type { Fault } from './faults.ts';
import { between, MERCHANTS, wholeMs, type Turn } from './turns.ts';

const MOOD_NAMES = Object.keys(MOODS) as MoodName[];
/** After this part of the run there are no more faults, so that the service has time to recover. */
const DISTURBED_PART = 0.6;
/** A run with fewer orders has one restore; a larger run has one of each side. */
const ORDERS_FOR_BOTH_RESTORES = 100;

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
  const timed = [
    { at: 0, fault: callbackTrouble(random) },
    ...Array.from({ length: rounds }, () => faultsOfRound(random)).flat(),
    ...restored.flatMap((side, index) => restore(side, index, restored.length, random)),
  ].toSorted((one, other) => one.at - other.at);
  const disturbedMs = overMs * DISTURBED_PART;
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

function faultsOfRound(random: Random): Timed[] {
  const merchantOf = () => Math.floor(random.next() * MERCHANTS.open);
  const victims = shuffled(['worker-1', 'api-1'] as const, random);
  const faults = shuffled(['reset', 'error', 'drop_answer'] as const, random);
  const [failing, suspended] = [merchantOf(), merchantOf()];
  const outage = { from: ['api-1', 'worker-1'], to: 'gateway-simulator' } as const;
  const durationMs = wholeMs(500, 3000, random);
  const during = (begins: Fault, ends: Fault, least: number, most: number): Timed[] => {
    const at = random.next() * (1 - most);
    return [
      { at, fault: begins },
      { at: at + between(least, most, random), fault: ends },
    ];
  };
  const once = (fault: Fault): Timed => ({ at: random.next(), fault });
  return [
    ...victims
      .slice(0, random.next() < 0.5 ? 1 : 2)
      .map((victim) => once({ kind: 'kill', victim })),
    once({ kind: 'cut', cut: outage, how: 'refuse', durationMs }),
    once({ kind: 'people' }),
    ...during(
      { kind: 'gatewayFault', fault: faults[0] ?? 'error', probability: between(0.1, 0.6, random) },
      { kind: 'gatewayMended' },
      0.1,
      0.1,
    ),
    ...during(
      {
        kind: 'endpointFault',
        merchant: failing,
        fault: random.next() < 0.5 ? 'always answers 500' : 'hangs',
      },
      { kind: 'endpointMended', merchant: failing },
      0.1,
      0.3,
    ),
    ...during(
      { kind: 'suspended', merchant: suspended },
      { kind: 'activated', merchant: suspended },
      0.02,
      0.1,
    ),
    ...MOOD_NAMES.flatMap((mood) =>
      WITHOUT_SESSIONS.includes(mood)
        ? once({ kind: 'mood', mood, durationMs: wholeMs(500, 3000, random) })
        : during({ kind: 'moodBegins', mood }, { kind: 'moodEnds', mood }, 0.05, 0.3),
    ),
  ];
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
