import type { RoundResult } from './report.ts';
import { newObservations } from './order-lifecycle.ts';
import type { ProcessKind } from '../service-on-postgres.ts';
import { PROCESS_KINDS } from '../service-on-postgres.ts';
import type { Side } from './side.ts';

/** The lifecycles of a round, and how many of them run at a time. */
export interface Batch {
  readonly count: number;
  readonly concurrency: number;
}

/** Measures one round of one side. */
export async function measureRound(
  side: Pick<Side, 'runLifecycle' | 'cpuMs' | 'waitUntilIdle'>,
  { count, concurrency }: Batch,
): Promise<RoundResult> {
  const seen = newObservations();
  const before = readCpuTimes(side);
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
  const after = readCpuTimes(side);
  const used = (kind: keyof typeof after) => (after[kind] - before[kind]) / count;
  return {
    seen,
    lifecyclesPerSecond: rateUnderFullLoad(endedAt, concurrency),
    cpuMsPerLifecycle: Object.fromEntries(
      PROCESS_KINDS.map((kind) => [kind, used(kind)]),
    ) as Record<ProcessKind, number>,
    ownCpuMsPerLifecycle: used('benchmark'),
  };
}

/** CPU milliseconds so far, of each kind of process and of the benchmark. */
function readCpuTimes(side: Pick<Side, 'cpuMs'>) {
  const { user, system } = process.cpuUsage();
  return { ...side.cpuMs(), benchmark: (user + system) / 1000 };
}

/**
 * Lifecycles per second under full load: after the first lifecycle of each client, and before the
 * first client had none left to start.
 */
function rateUnderFullLoad(endedAt: readonly number[], concurrency: number): number {
  const [from = NaN, to = NaN] = [endedAt[concurrency - 1], endedAt[endedAt.length - concurrency]];
  return ((endedAt.length - 2 * concurrency + 1) / (to - from)) * 1000;
}

/** Measures sides in alternating rounds, after one that only warms them up. */
export async function measureSides(
  sides: readonly { readonly name: string; readonly side: Parameters<typeof measureRound>[0] }[],
  options: { rounds: number; warmUp: Batch; batch: Batch },
): Promise<{ name: string; rounds: RoundResult[] }[]> {
  const measured = sides.map(({ name }) => ({ name, rounds: [] as RoundResult[] }));
  console.log(`lifecycles per second  ${sides.map(({ name }) => name.padStart(12)).join('')}`);
  for (let round = 0; round <= options.rounds; round += 1) {
    const rates: string[] = [];
    for (const [index, { side }] of sides.entries()) {
      const result = await measureRound(side, round === 0 ? options.warmUp : options.batch);
      rates.push(result.lifecyclesPerSecond.toFixed(2).padStart(12));
      if (round > 0) measured[index]?.rounds.push(result);
    }
    console.log(`${(round === 0 ? 'warm-up' : String(round)).padEnd(23)}${rates.join('')}`);
  }
  return measured;
}
