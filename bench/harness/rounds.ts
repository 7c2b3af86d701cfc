import type { Measurement } from './benchmark.ts';

/** The rounds of each side that count; the first round, which warms caches and code up, does not. */
export const ROUNDS = 5;

/** One side of a comparison: measures one round of it. */
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

/** The ratio of two quantities in each round. */
export function ratioOf(
  described: Omit<Measurement, 'unit' | 'rounds'>,
  values: readonly number[],
  to: readonly number[],
): Measurement {
  const rounds = values.map((value, round) => value / (to[round] ?? Number.NaN));
  return { ...described, unit: 'ratio', rounds };
}
