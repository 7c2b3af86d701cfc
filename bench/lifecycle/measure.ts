import { setTimeout as delay } from 'node:timers/promises';
import type { Measurement, Outcome } from '../harness/benchmark.ts';
import type { Batch } from '../harness/rounds.ts';
import { alternate, median, percentile, ratioOf, timed } from '../harness/rounds.ts';
import type { ProcessKind } from '../service-on-postgres.ts';
import { PROCESS_KINDS } from '../service-on-postgres.ts';
import type { CallName, Observations } from './order-lifecycle.ts';
import { CALLS, newObservations } from './order-lifecycle.ts';
import type { Side } from './side.ts';

interface Quantity {
  readonly id: string;
  readonly title: string;
  readonly unit: string;
  readonly value: number;
}

export interface LifecycleRounds {
  readonly rounds: number;
  /** The first round compiles code and opens connections; it is not reported. */
  readonly warmUp: Batch;
  readonly batch: Batch;
  /** How many lifecycles run one after the other, and how many begin evenly at half the rate. Default: none. */
  readonly lightLoad?: number;
}

/**
 * Measures whole lifecycles of sides in alternating rounds, and then under light load: 32 clients that wait
 * for each other measure their queue.
 *
 * @returns the quantities of all sides, the ratios of the first side to each other one, and what failed
 */
export async function measureSides(
  sides: readonly Side[],
  { rounds, warmUp, batch, lightLoad = 0 }: LifecycleRounds,
): Promise<Outcome> {
  const seen: Observations[] = [];
  const measured = sides.map(({ name }) => ({ name, rounds: [] as Quantity[][] }));
  const alternating = sides.map((side, index) => {
    const measure = async (round: number) => {
      const one = await measureRound(side, round === 0 ? warmUp : batch);
      if (round > 0) {
        seen.push(one.seen);
        measured[index]?.rounds.push(one.quantities);
      }
      return one.perSecond;
    };
    return [side.name, measure] as const;
  });
  const rates = await alternate(Object.fromEntries(alternating), rounds);
  const measurements = measurementsOf(measured);
  if (lightLoad > 0) {
    const perSecond = Math.min(...Object.values(rates).map(median)) / 2;
    const light: typeof measured = [];
    for (const side of sides) {
      const load = await runLightLoad(side, { count: lightLoad, perSecond });
      seen.push(load.alone, load.evenly);
      const quantities = [
        ...timesOf(load.alone, CALLS, 'alone'),
        ...timesOf(load.evenly, CALLS, 'begun evenly at half the rate'),
      ];
      light.push({ name: side.name, rounds: [quantities] });
    }
    measurements.push(...measurementsOf(light));
  }
  return { measurements: [...measurements, ...ratiosOf(measured)], ...failuresOf(seen) };
}

/** Runs the lifecycles of one round of one side. */
async function measureRound(side: Side, { count, concurrency }: Batch) {
  const seen = newObservations();
  const before = readCpuTimes(side);
  const endedAt: number[] = [];
  await timed({ count, concurrency }, async () => {
    await runLifecycle(side, seen);
    endedAt.push(performance.now());
  });
  // The last workflows end after the last webhook; their CPU time counts.
  await side.waitUntilIdle();
  const after = readCpuTimes(side);
  const cpuOf = (id: string, title: string, kinds: readonly (ProcessKind | 'benchmark')[]) => ({
    id: `cpu-${id}`,
    title,
    unit: 'CPU ms per lifecycle',
    value: kinds.reduce((sum, kind) => sum + after[kind] - before[kind], 0) / count,
  });
  const perSecond = rateUnderFullLoad(endedAt, concurrency);
  const service = PROCESS_KINDS.filter((kind) => kind !== 'gateway simulator');
  const quantities: Quantity[] = [
    { id: 'rate', title: 'whole lifecycles', unit: 'per second', value: perSecond },
    ...timesOf(seen, [...CALLS, 'lifecycle']),
    ...PROCESS_KINDS.map((kind) => cpuOf(kind, kind, [kind])),
    cpuOf('service', 'the service without the simulator', service),
    cpuOf('benchmark', 'clients and receiver', ['benchmark']),
  ];
  return { seen, perSecond, quantities };
}

/** Runs one lifecycle; one that fails is one of the failures that were seen. */
function runLifecycle(side: Side, seen: Observations): Promise<unknown> {
  return side.runLifecycle(seen).catch((error: unknown) => seen.failures.push(String(error)));
}

/** CPU milliseconds so far, of each kind of process and of this one, which runs the clients and the receiver. */
function readCpuTimes(side: Side): Record<ProcessKind | 'benchmark', number> {
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

/** Lifecycles one after the other, and lifecycles that begin evenly, whether the service keeps up or not. */
async function runLightLoad(
  side: Side,
  { count, perSecond }: { count: number; perSecond: number },
): Promise<Record<'alone' | 'evenly', Observations>> {
  const [alone, evenly] = [newObservations(), newObservations()];
  await timed({ count, concurrency: 1 }, () => runLifecycle(side, alone));
  await side.waitUntilIdle();
  const startedAt = performance.now();
  const running: Promise<unknown>[] = [];
  for (let index = 0; index < count; index += 1) {
    await delay(Math.max(0, startedAt + (index * 1000) / perSecond - performance.now()));
    running.push(runLifecycle(side, evenly));
  }
  await Promise.all(running);
  await side.waitUntilIdle();
  return { alone, evenly };
}

/** Within which time half of the calls, and 99 of 100, had their answer. @param load of the calls, if it is not the usual one */
function timesOf(
  { ms }: Observations,
  calls: readonly (CallName | 'lifecycle')[],
  load?: string,
): Quantity[] {
  return calls.flatMap((call) =>
    [50, 99].map((share) => ({
      id: `${load === undefined ? '' : `${load}-`}${call}-p${share}`,
      title: `${load === undefined ? '' : `${load}: `}${call}, ${share} of 100 within`,
      unit: 'ms',
      value: percentile(ms[call], share / 100),
    })),
  );
}

interface MeasuredSide {
  readonly name: string;
  readonly rounds: readonly Quantity[][];
}

/** The quantities of all sides, each beside the same of the other sides. The name of a side is left out if it is alone. */
function measurementsOf(sides: readonly MeasuredSide[]): Measurement[] {
  const first = sides[0]?.rounds[0] ?? [];
  return first.flatMap(({ id, title, unit }) =>
    sides.map((side) => ({
      id: sides.length === 1 ? id : `${id}-${side.name}`,
      title: sides.length === 1 ? title : `${title}, ${side.name}`,
      unit,
      rounds: valuesOf(side, id),
    })),
  );
}

/** The rates and processor times of the first side against those of each other one. */
function ratiosOf([first, ...others]: readonly MeasuredSide[]): Measurement[] {
  const compared = {
    rate: 'lifecycles',
    'cpu-service': 'processor time of the service',
    'cpu-worker': 'processor time of the worker',
  };
  return others.flatMap((other) =>
    Object.entries(compared).map(([id, what]) => {
      const title = `${what}, ${first?.name} against ${other.name}`;
      const described = { id: `${id}-ratio-${other.name}`, title };
      return ratioOf(described, first ? valuesOf(first, id) : [], valuesOf(other, id));
    }),
  );
}

function valuesOf({ rounds }: MeasuredSide, id: string): number[] {
  return rounds.map((round) => round.find((quantity) => quantity.id === id)?.value ?? Number.NaN);
}

/** What failed: lifecycles that did not complete. Responses other than 2xx, which clients repeat, are counted. */
function failuresOf(seen: readonly Observations[]) {
  const counts = new Map<string, number>();
  for (const { errors } of seen) {
    for (const [error, count] of errors) counts.set(error, (counts.get(error) ?? 0) + count);
  }
  const text = [...counts].map(([error, count]) => `${count} × ${error}`).join(', ');
  return {
    failures: seen.flatMap(({ failures }) => failures),
    notes: [`Responses other than 2xx, which the clients repeat: ${text || 'none'}.`],
  };
}
