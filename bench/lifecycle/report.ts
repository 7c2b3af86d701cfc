import type { CallName, Observations } from './order-lifecycle.ts';
import { CALLS } from './order-lifecycle.ts';
import type { ProcessKind } from './side.ts';
import { PROCESS_KINDS } from './side.ts';

/** What one side did in one round. */
export interface RoundResult {
  readonly seen: Observations;
  readonly lifecyclesPerSecond: number;
  /** What the rest of the machine used meanwhile: of a busy one the figures say nothing. */
  readonly othersCpuMsPerSecond: number;
  readonly cpuMsPerLifecycle: Record<ProcessKind, number>;
  /** CPU of the benchmark's own process: its client and its receiver. */
  readonly ownCpuMsPerLifecycle: number;
  /** What the other side used meanwhile, which had nothing to do. */
  readonly waitingCpuMsPerSecond: number;
}

/** What the service itself costs: the gateway is simulated. */
const SERVICE_KINDS = PROCESS_KINDS.filter((kind) => kind !== 'gateway simulator');

/** Prints the figures of one side, or of two with what the first is to the second. */
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
  const lives = ({ lifecyclesPerSecond }: RoundResult) => lifecyclesPerSecond;
  line('whole lives a second', medianOf(lives), 2);
  const [these = [], those] = sides;
  if (those) {
    const ratios = these.map((round, index) => lives(round) / lives(those[index] ?? round));
    const announced = `${median(ratios).toFixed(2)} (${ratios.map((one) => one.toFixed(2)).join(' ')})`;
    console.log(`The median of each round's own ratio: ${announced}`);
  }

  heading('milliseconds of all rounds');
  for (const call of [...CALLS, 'life'] as const) {
    const title = call === 'life' ? 'whole life' : call;
    line(`${title} p50`, percentileOf(call, 0.5));
    line(`${title} p99`, percentileOf(call, 0.99));
  }

  heading('CPU milliseconds a life');
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
  const announced = [...counts].map(([error, count]) => `${count} × ${error}`).join(', ');
  console.log(`Answers that were not 2xx, ${name}: ${announced === '' ? 'none' : announced}`);
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

function percentileOf(call: CallName | 'life', share: number) {
  return (rounds: readonly RoundResult[]) => {
    const sorted = rounds.flatMap(({ seen }) => seen.ms[call]).toSorted((a, b) => a - b);
    return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
  };
}

function ratioOf([first = Number.NaN, second]: readonly number[]): string {
  return second === undefined ? '' : (first / second).toFixed(2).padStart(10);
}
