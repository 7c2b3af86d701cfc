import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SetupError } from '../src/setup-error.ts';
import { newObservations } from './lifecycle/order-lifecycle.ts';
import { machineCpuMs } from './lifecycle/cpu-time.ts';
import type { RoundResult } from './lifecycle/report.ts';
import { printReport } from './lifecycle/report.ts';
import type { ProcessKind, Side } from './lifecycle/side.ts';
import { PROCESS_KINDS, startSide } from './lifecycle/side.ts';

/** So many lives for each place, of which two go by while not all places are taken. */
const LIFECYCLES_PER_CLIENT = 7;
/** In the first round everything is compiled and every connection opened: it does not count. */
const WARM_UP_LIFECYCLES_PER_CLIENT = 3;

/**
 * Whole lives a second: POST /orders, paid with the sandbox's test helper, delivered, moved on by a
 * day, until the merchant has the ORDER_COMPLETED webhook; so many at once, over HTTP. Beside it, in
 * alternating rounds, the same of another checkout.
 *
 * Both services are up all the time, and one of them is under load: started in turns, each round
 * would measure caches that are cold and code that is not compiled yet. What the waiting one uses
 * meanwhile is measured and announced, as is what everything else on the machine uses: with much of that,
 * the figures say nothing. A round begins when the other side has gone idle.
 *
 * Five rounds of both sides with 32 at once take 7 to 9 minutes on two processors.
 */
export async function run(args: readonly string[]): Promise<void> {
  const { folders, rounds, concurrency, orders } = await readOptions(args);
  const sides: Side[] = [];
  try {
    for (const folder of folders) sides.push(await startSide(folder, concurrency));
    const names = sides.length > 1 ? ['this', 'against'] : ['this'];
    names.forEach((name, index) => {
      console.log(`${name.padEnd(9)}${sides[index]?.folder} (${sides[index]?.commit})`);
    });
    console.log(`${rounds} rounds of ${orders} lives, ${concurrency} at once\n`);
    const titles = names.map((name) => `${name.padStart(10)}   others`).join('');
    console.log(`lives a second${titles}`);
    const results: RoundResult[][] = sides.map(() => []);
    for (let round = 0; round <= rounds; round += 1) {
      const count = round === 0 ? WARM_UP_LIFECYCLES_PER_CLIENT * concurrency : orders;
      const rates: string[] = [];
      for (const [index, side] of sides.entries()) {
        const others = sides.filter((other) => other !== side);
        const result = await liveThrough(side, others, count, concurrency);
        rates.push(
          result.lifecyclesPerSecond.toFixed(2).padStart(10),
          `${(result.othersCpuMsPerSecond / 10).toFixed(0)} %`.padStart(9),
        );
        if (round > 0) results[index]?.push(result);
        if (result.seen.failures.length > 0) process.exitCode = 1;
      }
      console.log(`${(round === 0 ? 'warm-up' : String(round)).padEnd(14)}${rates.join('')}`);
    }
    printReport(names, results);
  } finally {
    await Promise.all(sides.map((side) => side.stop()));
  }
}

const positive = (name: string, text: string) => {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new SetupError(`--${name} accepts a whole number from 1 on`);
};

async function readOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      against: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      'at-once': { type: 'string', default: '32' },
      orders: { type: 'string' },
    },
  });
  const concurrency = positive('at-once', values['at-once']);
  const orders = positive('orders', values.orders ?? String(LIFECYCLES_PER_CLIENT * concurrency));
  if (orders < 3 * concurrency) {
    throw new SetupError(
      `--orders has to be at least 3 × --at-once: the ends of a round count not`,
    );
  }
  const { against } = values;
  const here = join(import.meta.dirname, '..');
  const folders = await Promise.all(
    [here, ...(against === undefined ? [] : [against])].map((folder) => realpath(folder)),
  );
  return { folders, rounds: positive('rounds', values.rounds), concurrency, orders };
}

/** One round of one side. */
async function liveThrough(
  side: Side,
  others: readonly Side[],
  count: number,
  concurrency: number,
): Promise<RoundResult> {
  const seen = newObservations();
  const before = readCpuTimes(side, others);
  const endedAt: number[] = [];
  const lives = Array.from({ length: count }).keys();
  const takePlace = async () => {
    for (const _ of lives) {
      await side.runLifecycle(seen).catch((error: unknown) => seen.failures.push(String(error)));
      endedAt.push(performance.now());
    }
  };
  await Promise.all(Array.from({ length: concurrency }, takePlace));
  // What the calls have begun belongs to their lives: the last workflows end only now.
  await side.waitUntilIdle();
  const after = readCpuTimes(side, others);
  const used = (kind: keyof typeof after) => after[kind] - before[kind];
  const known = [...PROCESS_KINDS, 'benchmark', 'waiting side'] as const;
  const knownMs = known.reduce((sum, kind) => sum + used(kind), 0);
  const seconds = used('time') / 1000;
  return {
    seen,
    lifecyclesPerSecond: rateUnderFullLoad(endedAt, concurrency),
    cpuMsPerLifecycle: Object.fromEntries(
      PROCESS_KINDS.map((kind) => [kind, used(kind) / count]),
    ) as Record<ProcessKind, number>,
    ownCpuMsPerLifecycle: used('benchmark') / count,
    waitingCpuMsPerSecond: used('waiting side') / seconds,
    othersCpuMsPerSecond: Math.max(0, used('machine') - knownMs) / seconds,
  };
}

/** Milliseconds so far: of time, and of CPU time of whatever may use any. */
function readCpuTimes(side: Side, others: readonly Side[]) {
  const { user, system } = process.cpuUsage();
  const waiting = others.flatMap((other) => Object.values(other.cpuMs()));
  return {
    ...side.cpuMs(),
    benchmark: (user + system) / 1000,
    'waiting side': waiting.reduce((sum, ms) => sum + ms, 0),
    machine: machineCpuMs(),
    time: performance.now(),
  };
}

/**
 * Lives a second while all places were taken and lives ended as fast as they began: after the first
 * life of every place, and before the first place found none left to begin.
 */
function rateUnderFullLoad(endedAt: readonly number[], concurrency: number): number {
  const [from = NaN, to = NaN] = [endedAt[concurrency - 1], endedAt[endedAt.length - concurrency]];
  return ((endedAt.length - 2 * concurrency + 1) / (to - from)) * 1000;
}
