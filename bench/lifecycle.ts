import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { countOption, refuseCommandLine, textOption } from '../src/main/process/command-line.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { ROUNDS } from './harness/rounds.ts';
import { measureSides } from './lifecycle/measure.ts';
import type { Side } from './lifecycle/side.ts';
import { startSide } from './lifecycle/side.ts';

const CONCURRENCY = 32;
/** Lifecycles of each concurrent client, two of which run while not all clients are busy. */
const LIFECYCLES_PER_CLIENT = { full: 7, quick: 4 };
const WARM_UP_LIFECYCLES_PER_CLIENT = 3;
/** Lifecycles one after the other, and as many that begin evenly. */
const LIGHT_LIFECYCLES = { full: 200, quick: 30 };

const OPTIONS = {
  against: textOption(
    'the folder of another checkout with its own node_modules, with which this one is compared',
  ),
  rounds: countOption(undefined, `the number of rounds; ${ROUNDS} by default`),
} as const;

/**
 * Whole lifecycles of orders. With `--against FOLDER` it compares them with another checkout, in
 * alternating rounds.
 *
 * Both services run all the time, and one of them is under load: a restart before each round would
 * measure cold caches and code that is not compiled. A round begins when the other side is idle.
 *
 * Five rounds of both sides take 10 to 12 minutes on two processors.
 */
export const benchmark: Benchmark<typeof OPTIONS> = {
  description:
    'Whole lifecycles over HTTP, from POST /orders to the ORDER_COMPLETED webhook: 32 at a time, one after the other, and beginning evenly at half the rate.',
  options: OPTIONS,
  async run({ quick, values }) {
    const size = quick ? 'quick' : 'full';
    const batchOf = (perClient: number) => ({
      count: perClient * CONCURRENCY,
      concurrency: CONCURRENCY,
    });
    const sides: Side[] = [];
    try {
      for (const checkout of await checkoutsOf(values.against)) {
        sides.push(await startSide(checkout, CONCURRENCY));
      }
      return await measureSides(sides, {
        rounds: values.rounds ?? (quick ? 2 : ROUNDS),
        warmUp: batchOf(WARM_UP_LIFECYCLES_PER_CLIENT),
        batch: batchOf(LIFECYCLES_PER_CLIENT[size]),
        lightLoad: LIGHT_LIFECYCLES[size],
      });
    } finally {
      await Promise.all(sides.map((side) => side.stop()));
    }
  },
};

async function checkoutsOf(against: string | undefined) {
  const here = { name: 'this', folder: await realpath(join(import.meta.dirname, '..')) };
  if (against === undefined) return [here];
  const there = await realpath(against).catch(() =>
    refuseCommandLine('npm run bench -- lifecycle', `--against: there is no folder ${against}`),
  );
  return [here, { name: 'other', folder: there }];
}
