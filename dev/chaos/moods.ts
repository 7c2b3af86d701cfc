import { setTimeout as delay } from 'node:timers/promises';
import { type MoodName, MOODS } from '../gateway-simulator/moods.ts';
import type { Random } from '../gateway-simulator/random.ts';
import { shuffled } from '../gateway-simulator/random.ts';
import { beginMood, endMoods } from '../load/moods.ts';
import type { SimulatorAccess } from '../load/simulator.ts';

/** The moods that chaos does not set for all payments, and why. */
export const NOT_IN_CHAOS = {
  pendingRefunds: 'the acts of single orders set its switch, and wait for its refunds',
  authorizedPayments: 'the helper that pays an order is refused; an act sets its switch',
  failedTransfers: 'a transfer that failed is made again an hour later, after the run',
} as const satisfies Partial<Record<MoodName, string>>;

/** A mood of the gateway, and how long it lasts. */
export interface PlannedMood {
  readonly name: MoodName;
  readonly durationMs: number;
}

const LEAST_MS = 2000;
const MOST_MS = 6000;
const PAUSE_MS = 1000;

const isInChaos = (name: string): name is Exclude<MoodName, keyof typeof NOT_IN_CHAOS> =>
  !Object.hasOwn(NOT_IN_CHAOS, name);
const NAMES = (Object.keys(MOODS) as MoodName[]).filter(isInChaos);

/** Plans each mood once. The same random numbers give the same plan. */
export function planMoods(random: Random): PlannedMood[] {
  return shuffled(NAMES, random).map((name) => ({
    name,
    durationMs: LEAST_MS + Math.floor(random.next() * (MOST_MS - LEAST_MS)),
  }));
}

/** Begins to put the gateway into one mood after the other, over and over. */
export function startMoods(access: SimulatorAccess, plan: readonly PlannedMood[]) {
  const end = new AbortController();
  const untilEnd = (ms: number) => delay(ms, undefined, { signal: end.signal }).catch(() => {});

  async function comeAndGo(): Promise<void> {
    while (!end.signal.aborted) {
      for (const { name, durationMs } of plan) {
        await untilEnd(PAUSE_MS);
        if (end.signal.aborted) return;
        await beginMood(access, name);
        await untilEnd(durationMs);
        await endMoods(access, [name]);
      }
    }
  }

  const ended = comeAndGo();
  return {
    /** Ends the moods: every switch is removed, and nothing that they began is pending. */
    async end(): Promise<void> {
      end.abort();
      await ended;
      await endMoods(access, NAMES);
    },
  };
}
