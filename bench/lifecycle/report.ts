import type { CallName, Observations } from './order-lifecycle.ts';
import { CALLS } from './order-lifecycle.ts';
import { percentile } from '../load.ts';
import type { ProcessKind } from './side.ts';
import { PROCESS_KINDS } from './side.ts';

/** The measurements of one side in one round. */
export interface RoundResult {
  readonly seen: Observations;
  readonly lifecyclesPerSecond: number;
  /** CPU time of everything else on the machine. If it is high, the figures are not meaningful. */
  readonly othersCpuMsPerSecond: number;
  readonly cpuMsPerLifecycle: Record<ProcessKind, number>;
  /** CPU time of the benchmark's process, which runs the clients and the receiver. */
  readonly ownCpuMsPerLifecycle: number;
  /** CPU time of the other side, which is idle. */
  readonly waitingCpuMsPerSecond: number;
}

/** The processes of the service, without the simulated gateway. */
const SERVICE_KINDS = PROCESS_KINDS.filter((kind) => kind !== 'gateway simulator');

/** Prints the figures of one side, or of two with the ratio of the first to the second. */
export function printReport(names: readonly string[], sides: readonly RoundResult[][]): void {
  const line = (title: string, pick: (rounds: RoundResult[]) => number, digits = 0) => {
    const figures = sides.map(pick);
    const cells = figures.map((figure) => figure.toFixed(digits).padStart(10));
    console.log(`${title.padEnd(26)}${cells.join('')}${ratioOf(figures)}`);
  };
  const heading = (title: string) => {
    const cells = names.map((name) => name.padStart(10));
    console.log(`\n${title.padEnd(26)}${cells.join('')}${names.length > 1 ? '     ratio' : ''}`);
  };

  heading('median of the rounds');
  const rate = ({ lifecyclesPerSecond }: RoundResult) => lifecyclesPerSecond;
  line('lifecycles per second', medianOf(rate), 2);
  const [these = [], those] = sides;
  if (those) {
    const ratios = these.map((round, index) => rate(round) / rate(those[index] ?? round));
    const text = `${median(ratios).toFixed(2)} (${ratios.map((one) => one.toFixed(2)).join(' ')})`;
    console.log(`The median of each round's own ratio: ${text}`);
  }

  heading('milliseconds of all rounds');
  for (const call of [...CALLS, 'lifecycle'] as const) {
    line(`${call} p50`, percentileOf(call, 0.5));
    line(`${call} p99`, percentileOf(call, 0.99));
  }

  heading('CPU ms per lifecycle');
  const ofKind = (kind: ProcessKind) =>
    medianOf(({ cpuMsPerLifecycle }) => cpuMsPerLifecycle[kind]);
  for (const kind of SERVICE_KINDS) line(kind, ofKind(kind), 1);
  line('the service', medianOf(serviceCpuMs), 1);
  line('gateway simulator', ofKind('gateway simulator'), 1);
  const ownCpuMs = ({ ownCpuMsPerLifecycle }: RoundResult) => ownCpuMsPerLifecycle;
  line('this benchmark', medianOf(ownCpuMs), 1);

  if (sides.length > 1) {
    const waiting = medianOf(({ waitingCpuMsPerSecond }) => waitingCpuMsPerSecond);
    const shares = sides.map((rounds) => `${(waiting(rounds) / 10).toFixed(1)} %`).join(' and ');
    console.log(`\nThe side without load used ${shares} of one processor.`);
  }
  const others = Math.max(...sides.flat().map(({ othersCpuMsPerSecond: ms }) => ms / 10));
  console.log(
    `Everything else on this machine used up to ${others.toFixed(0)} % of one processor.`,
  );
  names.forEach((name, index) => printErrors(name, sides[index] ?? []));
}

function serviceCpuMs({ cpuMsPerLifecycle }: RoundResult): number {
  return SERVICE_KINDS.reduce((sum, kind) => sum + cpuMsPerLifecycle[kind], 0);
}

function printErrors(name: string, rounds: readonly RoundResult[]): void {
  const counts = new Map<string, number>();
  for (const { seen } of rounds) {
    for (const [error, count] of seen.errors) counts.set(error, (counts.get(error) ?? 0) + count);
  }
  const text = [...counts].map(([error, count]) => `${count} × ${error}`).join(', ');
  console.log(`Responses other than 2xx, ${name}: ${text === '' ? 'none' : text}`);
  for (const { seen } of rounds) seen.failures.forEach((failure) => console.log(`  ${failure}`));
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

function medianOf(pick: (round: RoundResult) => number) {
  return (rounds: readonly RoundResult[]) => median(rounds.map(pick));
}

function percentileOf(call: CallName | 'lifecycle', share: number) {
  return (rounds: readonly RoundResult[]) =>
    percentile(
      rounds.flatMap(({ seen }) => seen.ms[call]),
      share,
    );
}

function ratioOf([first = Number.NaN, second]: readonly number[]): string {
  return second === undefined ? '' : (first / second).toFixed(2).padStart(10);
}
