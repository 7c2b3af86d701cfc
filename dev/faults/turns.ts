import type { Random } from '../gateway-simulator/random.ts';
import type { Fault } from './faults.ts';

/** What is next in a lane: faults at the same time, after a wait. */
export interface Turn {
  readonly waitMs: number;
  readonly faults: readonly Fault[];
}

/** The merchants of a run by outcome. The last one of a run with a known outcome is suspended again and again. */
export const MERCHANTS = { known: 6, open: 2 } as const;

/** A random number between two. */
export const between = (least: number, most: number, random: Random) =>
  least + random.next() * (most - least);

/** A random whole number from one below another. */
export const wholeMs = (least: number, most: number, random: Random) =>
  Math.floor(between(least, most, random));
