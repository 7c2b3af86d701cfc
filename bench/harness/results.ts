import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Measurement, Outcome, Target } from './benchmark.ts';
import { median } from './rounds.ts';

/** Where results are written; git ignores it. */
const FOLDER = join(import.meta.dirname, '../results');

export interface Result extends Outcome {
  readonly name: string;
  readonly description: string;
  readonly command: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly commit: string;
  readonly processor: string;
  /** The machine in more words. */
  readonly machine: string;
  /** What everything else on this machine used, in percent of one processor. */
  readonly othersPercent: number;
}

/** A number with three or four significant digits, without an exponent. */
function numberText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** Whether the median keeps the bound; NaN keeps none. */
function isMet({ atLeast = -Infinity, atMost = Infinity }: Target, { rounds }: Measurement) {
  return median(rounds) >= atLeast && median(rounds) <= atMost;
}

/** The measurements with their targets. @throws Error if a target is that of no measurement */
function measurementsOf({ name, measurements, targets = [] }: Result) {
  const lost = targets.find(({ of }) => !measurements.some(({ id }) => id === of));
  if (lost) throw new Error(`The benchmark ${name} has no measurement ${lost.of}`);
  return measurements.map((measurement) => {
    const target = targets.find(({ of }) => of === measurement.id);
    return { measurement, target, isMissed: target && !isMet(target, measurement) };
  });
}

/** Whether a result has no failure and misses no target. */
export function isGood(result: Result): boolean {
  const isMissing = measurementsOf(result).some(({ isMissed }) => isMissed);
  return !isMissing && (result.failures ?? []).length === 0;
}

/** A result in Markdown: the rows are those that docs/benchmarks.md has of each benchmark. */
export function resultText(result: Result): string {
  const { name, description, startedAt, commit, processor, notes = [], failures = [] } = result;
  const rows = measurementsOf(result).map(({ measurement, target, isMissed }) => {
    const { title, unit, rounds } = measurement;
    const [least, most] = [Math.min(...rounds), Math.max(...rounds)];
    const spread = least === most ? '' : ` (${numberText(least)}–${numberText(most)})`;
    const bound = target?.atLeast === undefined ? `≤ ${target?.atMost}` : `≥ ${target.atLeast}`;
    const goal = target ? `${bound}${isMissed ? ', **missed**' : ''}` : '';
    const origin = `${startedAt.slice(0, 10)}, ${commit}, ${processor}`;
    const figure = `${numberText(median(rounds))}${spread} ${unit}`;
    return `| ${name} | ${title} | ${figure} | ${goal} | ${origin} |`;
  });
  return [
    `${name}: ${description}`,
    '',
    '| Benchmark | Figure | Median (least–most) | Target | Date, commit, processor |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...notes,
    ...failures.map((failure) => `FAILED: ${failure}`),
    `Everything else on this machine used ${result.othersPercent.toFixed(0)} % of one processor. ${result.command}, ${startedAt}, ${result.seconds.toFixed(0)} s, ${result.machine}.`,
    '',
  ].join('\n');
}

/** Writes a result into the folder of results. @returns the file */
export function writeResult(result: Result): string {
  mkdirSync(FOLDER, { recursive: true });
  const file = join(FOLDER, `${result.name}.md`);
  writeFileSync(file, resultText(result));
  return file;
}
