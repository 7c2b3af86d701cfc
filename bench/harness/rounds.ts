import type { Measurement } from './benchmark.ts';

/** The rounds of each side that count; the first round, which warms caches and code up, does not. */
export const ROUNDS = 5;

/** Calls of some work, and how many of them are under way at a time. */
export interface Batch {
  readonly count: number;
  readonly concurrency: number;
}

/** Calls `work` with the indexes from 0 on. @returns the seconds of all calls */
export async function timed(
  { count, concurrency }: Batch,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  const indexes = Array.from({ length: count }).keys();
  const workUntilDone = async () => {
    for (const index of indexes) await work(index);
  };
  await Promise.all(Array.from({ length: concurrency }, workUntilDone));
  return (performance.now() - startedAt) / 1000;
}

/** Calls `work` as {@link timed} does. @returns calls per second */
export async function ratePerSecond(
  batch: Batch,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  return batch.count / (await timed(batch, work));
}

/** One side of a comparison: measures one round of it. Round 0 warms it up. */
export type Side = (round: number) => Promise<number>;

/**
 * Measures sides in alternating rounds, so that other load on the machine affects all of them. Every
 * second round runs them in the reverse order.
 *
 * @returns the values of each side by round, without the warm-up
 */
export async function alternate<Name extends string>(
  sides: Readonly<Record<Name, Side>>,
  rounds = ROUNDS,
): Promise<Record<Name, number[]>> {
  const names = Object.keys(sides) as Name[];
  const values = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<
    Name,
    number[]
  >;
  console.log(`round     ${names.map((name) => name.padStart(22)).join('')}`);
  for (let round = 0; round <= rounds; round += 1) {
    const measured = new Map<Name, number>();
    const order = round % 2 === 0 ? names : names.toReversed();
    for (const name of order) measured.set(name, await sides[name](round));
    const cells = names.map((name) => measured.get(name)?.toFixed(2).padStart(22));
    console.log(`${(round === 0 ? 'warm-up' : String(round)).padEnd(10)}${cells.join('')}`);
    if (round === 0) continue;
    for (const name of names) values[name].push(measured.get(name) ?? Number.NaN);
  }
  return values;
}

export function ratioOf(
  described: Omit<Measurement, 'unit' | 'rounds'>,
  values: readonly number[],
  to: readonly number[],
): Measurement {
  const rounds = values.map((value, round) => value / (to[round] ?? Number.NaN));
  return { ...described, unit: 'ratio', rounds };
}

/** The value below which this share of the numbers lies; NaN without numbers. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

/** The middle value, or the mean of the two in the middle; NaN without numbers. */
export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}
