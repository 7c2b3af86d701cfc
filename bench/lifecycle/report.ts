import type { Measurement } from '../harness/benchmark.ts';
import { ratioOf } from '../harness/rounds.ts';
import { percentile } from '../harness/statistics.ts';
import type { Observations } from './order-lifecycle.ts';
import { CALLS } from './order-lifecycle.ts';
import type { ProcessKind } from '../service-on-postgres.ts';
import { PROCESS_KINDS } from '../service-on-postgres.ts';

/** The measurements of one side in one round. */
export interface RoundResult {
  readonly seen: Observations;
  readonly lifecyclesPerSecond: number;
  readonly cpuMsPerLifecycle: Record<ProcessKind, number>;
  /** CPU time of the benchmark's process, which runs the clients and the receiver. */
  readonly ownCpuMsPerLifecycle: number;
}

/** The rounds of one side, and its name in the report; '' when it is the only one. */
export interface SideRounds {
  readonly name: string;
  readonly rounds: readonly RoundResult[];
}

/** The processes of the service, without the simulated gateway. */
const SERVICE_KINDS = PROCESS_KINDS.filter((kind) => kind !== 'gateway simulator');

const serviceCpuMs = ({ cpuMsPerLifecycle }: RoundResult) =>
  SERVICE_KINDS.reduce((sum, kind) => sum + cpuMsPerLifecycle[kind], 0);

/** The quantities of one round: id, title, unit and value. */
function quantitiesOf(round: RoundResult): [string, string, string, number][] {
  const { seen, cpuMsPerLifecycle, lifecyclesPerSecond, ownCpuMsPerLifecycle } = round;
  const times = [...CALLS, 'lifecycle' as const].flatMap((call) =>
    ([50, 99] as const).map((share): [string, string, string, number] => [
      `${call}-p${share}`,
      `${call}, ${share} of 100 within`,
      'ms',
      percentile(seen.ms[call], share / 100),
    ]),
  );
  const cpu = PROCESS_KINDS.map((kind): [string, string, string, number] => [
    `cpu-${kind}`,
    kind,
    'CPU ms per lifecycle',
    cpuMsPerLifecycle[kind],
  ]);
  return [
    ['rate', 'whole lifecycles', 'per second', lifecyclesPerSecond],
    ...times,
    ...cpu,
    [
      'cpu-service',
      'the service without the simulator',
      'CPU ms per lifecycle',
      serviceCpuMs(round),
    ],
    ['cpu-benchmark', 'clients and receiver', 'CPU ms per lifecycle', ownCpuMsPerLifecycle],
  ];
}

/**
 * The measurements of all sides, and the ratios of the first one's rate and processor time to those of each other.
 *
 * @param sides the first one's measurements keep their ids; those of others are followed by the name
 */
export function lifecycleMeasurements(sides: readonly SideRounds[]): Measurement[] {
  const rateOf = ({ rounds }: SideRounds) =>
    rounds.map(({ lifecyclesPerSecond }) => lifecyclesPerSecond);
  const cpuOf = ({ rounds }: SideRounds) => rounds.map(serviceCpuMs);
  const workerOf = ({ rounds }: SideRounds) =>
    rounds.map((round) => round.cpuMsPerLifecycle.worker);
  const [first] = sides;
  const perSide = sides.map(({ name, rounds }, side) => {
    const values = rounds.map(quantitiesOf);
    return (values[0] ?? []).map(([id, title, unit], index) => ({
      id: side === 0 ? id : `${id}-${name}`,
      title: name === '' ? title : `${title}, ${name}`,
      unit,
      rounds: values.map((round) => round[index]?.[3] ?? Number.NaN),
    }));
  });
  const interleaved = (perSide[0] ?? []).flatMap((_, index) =>
    perSide.flatMap((measurements) => measurements[index] ?? []),
  );
  const ratios = sides.slice(1).flatMap((side) => {
    const against = `${first?.name} against ${side.name}`;
    const ratio = (id: string, title: string, valuesOf: (one: SideRounds) => number[]) => {
      const described = { id: `${id}-${side.name}`, title: `${title}, ${against}` };
      return ratioOf(described, first ? valuesOf(first) : [], valuesOf(side));
    };
    return [
      ratio('ratio', 'lifecycles', rateOf),
      ratio('cpu-ratio', 'processor time of the service', cpuOf),
      ratio('worker-ratio', 'processor time of the worker', workerOf),
    ];
  });
  return [...interleaved, ...ratios];
}

/** What failed: lifecycles that did not complete. Responses other than 2xx, which clients repeat, are counted. */
export function lifecycleFailures(
  sides: readonly SideRounds[],
  others: readonly Observations[] = [],
) {
  const seen = [...sides.flatMap(({ rounds }) => rounds.map((round) => round.seen)), ...others];
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
