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

/** Lifecycles of each concurrent client, two of which run while not all clients are busy. */
const LIFECYCLES_PER_CLIENT = 7;
/** The first round compiles code and opens connections; it is not measured. */
const WARM_UP_LIFECYCLES_PER_CLIENT = 3;

/**
 * Measures order lifecycles per second over HTTP: POST /orders, pay with the sandbox's test helper,
 * deliver, advance a day, until the merchant has the ORDER_COMPLETED webhook. Optionally compares
 * them with another checkout, in alternating rounds.
 *
 * Both services run all the time, and one of them is under load: a restart before each round would
 * measure cold caches and code that is not compiled. The CPU time of the idle service and of
 * everything else on the machine is reported too: if it is high, the figures are not meaningful. A
 * round begins when the other side is idle.
 *
 * Five rounds of both sides with a concurrency of 32 take 7 to 9 minutes on two processors.
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
    console.log(`${rounds} rounds of ${orders} lifecycles, concurrency ${concurrency}\n`);
    const titles = names.map((name) => `${name.padStart(10)}   others`).join('');
    console.log(`per second    ${titles}`);
    const results: RoundResult[][] = sides.map(() => []);
    for (let round = 0; round <= rounds; round += 1) {
      const count = round === 0 ? WARM_UP_LIFECYCLES_PER_CLIENT * concurrency : orders;
      const rates: string[] = [];
      for (const [index, side] of sides.entries()) {
        const others = sides.filter((other) => other !== side);
        const result = await measureRound(side, others, count, concurrency);
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
      `--orders has to be at least 3 × --at-once: the ends of a round are not measured`,
    );
  }
  const { against } = values;
  const here = join(import.meta.dirname, '..');
  const folders = await Promise.all(
    [here, ...(against === undefined ? [] : [against])].map((folder) => realpath(folder)),
  );
  return { folders, rounds: positive('rounds', values.rounds), concurrency, orders };
}

/** Measures one round of one side. */
async function measureRound(
  side: Side,
  others: readonly Side[],
  count: number,
  concurrency: number,
): Promise<RoundResult> {
  const seen = newObservations();
  const before = readCpuTimes(side, others);
  const endedAt: number[] = [];
  const remaining = Array.from({ length: count }).keys();
  const runClient = async () => {
    for (const _ of remaining) {
      await side.runLifecycle(seen).catch((error: unknown) => seen.failures.push(String(error)));
      endedAt.push(performance.now());
    }
  };
  await Promise.all(Array.from({ length: concurrency }, runClient));
  // The last workflows end after the last webhook; their CPU time counts.
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

/** Milliseconds so far: the time, and the CPU time of each process, the benchmark and the machine. */
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
 * Lifecycles per second under full load: after the first lifecycle of each client, and before the
 * first client had none left to start.
 */
function rateUnderFullLoad(endedAt: readonly number[], concurrency: number): number {
  const [from = NaN, to = NaN] = [endedAt[concurrency - 1], endedAt[endedAt.length - concurrency]];
  return ((endedAt.length - 2 * concurrency + 1) / (to - from)) * 1000;
}
