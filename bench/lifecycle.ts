import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { ValuesOf } from '../src/main/process/command-line.ts';
import {
  countOption,
  flagOption,
  refuseCommandLine,
  textOption,
} from '../src/main/process/command-line.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { median } from './harness/statistics.ts';
import type { LightLoad } from './lifecycle/light-load.ts';
import { lightLoadMeasurements, measureLightLoad } from './lifecycle/light-load.ts';
import { MAIL_TARGET, mailFailures, mailSides, WITH_MAILS } from './lifecycle/mails.ts';
import type { SideRounds } from './lifecycle/report.ts';
import { lifecycleFailures, lifecycleMeasurements } from './lifecycle/report.ts';
import { measureSides } from './lifecycle/round.ts';
import type { Side } from './lifecycle/side.ts';
import { startSide } from './lifecycle/side.ts';

/** Lifecycles of each concurrent client, two of which run while not all clients are busy. */
const LIFECYCLES_PER_CLIENT = { full: 7, quick: 4 };
/** The first round compiles code and opens connections; it is not measured. */
const WARM_UP_LIFECYCLES_PER_CLIENT = 3;

/** Lifecycles one after the other, and as many that begin evenly. */
const LIGHT_LIFECYCLES = { full: 200, quick: 30 };

const USAGE = 'npm run bench -- lifecycle';
const OPTIONS = {
  against: textOption(
    'the folder of another checkout with its own node_modules, with which this one is compared',
  ),
  mails: flagOption(
    'this checkout with mails is compared with itself without them: at most 1.1 times the processor time',
  ),
  rounds: countOption(undefined, 'the number of rounds; 5 by default'),
  'at-once': countOption(undefined, 'the number of lifecycles at a time; 32 by default'),
  orders: countOption(undefined, 'the number of lifecycles of a round; 7 × --at-once by default'),
} as const;

/**
 * Whole lifecycles of orders. With `--against FOLDER` it compares them with another checkout, in
 * alternating rounds; with `--mails` it compares this one with itself without mails, and counts the mails.
 *
 * Both services run all the time, and one of them is under load: a restart before each round would
 * measure cold caches and code that is not compiled. A round begins when the other side is idle.
 *
 * Afterwards each side has lifecycles one after the other, and lifecycles that begin evenly at half the rate
 * of the slower side: 32 clients that wait for each other measure their queue.
 *
 * Five rounds of both sides with a concurrency of 32 take 10 to 12 minutes on two processors.
 */
export const benchmark: Benchmark<typeof OPTIONS> = {
  description:
    'Whole lifecycles over HTTP, from POST /orders to the ORDER_COMPLETED webhook: 32 at a time, one after the other, and beginning evenly at half the rate.',
  options: OPTIONS,
  async run({ quick, values }) {
    const options = await readOptions(values, quick);
    const { rounds, concurrency, orders } = options;
    const sides: (Side & { name: string })[] = [];
    try {
      for (const { name, folder, settings } of options.sides) {
        const side = await startSide(folder, concurrency, settings);
        sides.push({ ...side, name });
        console.log(`${name.padEnd(15)}${folder} (${side.commit})`);
      }
      const warmUp = { count: WARM_UP_LIFECYCLES_PER_CLIENT * concurrency, concurrency };
      const measured = await measureSides(
        sides.map((side) => ({ name: side.name, side })),
        { rounds, warmUp, batch: { count: orders, concurrency } },
      );
      const perSecond = slowestRate(measured) / 2;
      const count = LIGHT_LIFECYCLES[quick ? 'quick' : 'full'];
      const light: (LightLoad & { name: string })[] = [];
      for (const side of sides) {
        light.push({ ...(await measureLightLoad(side, { count, perSecond })), name: side.name });
      }
      const { failures, notes } = lifecycleFailures(
        measured,
        light.flatMap(({ alone, evenly }) => [alone, evenly]),
      );
      const mailed = sides.find(({ name }) => name === WITH_MAILS);
      const lifecycles = warmUp.count + rounds * orders + 2 * count;
      return {
        measurements: [...lifecycleMeasurements(measured), ...light.flatMap(lightLoadMeasurements)],
        targets: mailed ? [MAIL_TARGET] : [],
        failures: [...failures, ...(mailed ? await mailFailures(mailed, lifecycles) : [])],
        notes,
      };
    } finally {
      await Promise.all(sides.map((side) => side.stop()));
    }
  },
};

/** Lifecycles per second of the slower side, the median of its rounds. */
function slowestRate(sides: readonly SideRounds[]): number {
  return Math.min(
    ...sides.map(({ rounds }) => median(rounds.map((round) => round.lifecyclesPerSecond))),
  );
}

async function readOptions(values: ValuesOf<typeof OPTIONS>, quick: boolean) {
  const rounds = values.rounds ?? (quick ? 2 : 5);
  const concurrency = values['at-once'] ?? 32;
  const perClient = LIFECYCLES_PER_CLIENT[quick ? 'quick' : 'full'];
  const orders = values.orders ?? perClient * concurrency;
  if (orders < 3 * concurrency) {
    refuseCommandLine(
      USAGE,
      '--orders has to be at least 3 × --at-once: the ends of a round are not measured',
    );
  }
  return { sides: await sidesOf(values), rounds, concurrency, orders };
}

/** What is measured: this checkout alone, against another one, or with mails against without. */
async function sidesOf({ against, mails }: ValuesOf<typeof OPTIONS>) {
  const here = await realpath(join(import.meta.dirname, '..'));
  if (against === undefined) {
    return mails ? mailSides(here) : [{ name: '', folder: here, settings: {} }];
  }
  if (mails) refuseCommandLine(USAGE, '--mails compares this checkout with itself: no --against');
  const there = await realpath(against).catch(() =>
    refuseCommandLine(USAGE, `--against: there is no folder ${against}`),
  );
  return [
    { name: 'this', folder: here, settings: {} },
    { name: 'other', folder: there, settings: {} },
  ];
}
