import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Measurement, Outcome, Target } from './benchmark.ts';
import type { Machine } from './machine.ts';
import { plotOf } from './plot.ts';
import { median } from './statistics.ts';

const RESULTS = join(import.meta.dirname, '../results');

/** One run of a benchmark, as its JSON file has it. */
export interface Result extends Outcome {
  readonly name: string;
  readonly description: string;
  /** The command that made it. */
  readonly command: string;
  readonly startedAt: string;
  readonly seconds: number;
  readonly machine: Machine;
  /** The share of one processor that everything else on this machine used, in percent. */
  readonly othersPercent: number;
}

/** The folder of results. Local ones are not committed: those of quick runs, of options and of tools. */
export const resultsFolder = (isLocal: boolean) => (isLocal ? join(RESULTS, 'local') : RESULTS);

/** Writes a result as `<name>.json` and `<name>.svg`. */
export function writeResult(folder: string, result: Result): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${result.name}.json`), `${JSON.stringify(result, undefined, 2)}\n`);
  writeFileSync(join(folder, `${result.name}.svg`), plotOf(result));
}

/** The results of a folder, in the order of their names. */
export function readResults(folder: string): Result[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => JSON.parse(readFileSync(join(folder, basename(file)), 'utf8')) as Result);
}

/** The measurement of this id. @throws Error if the result has none */
function measurementOf({ name, measurements }: Result, id: string): Measurement {
  const found = measurements.find((measurement) => measurement.id === id);
  if (!found) throw new Error(`The benchmark ${name} has no measurement ${id}`);
  return found;
}

/** The median of a measurement. */
export const medianOf = (result: Result, id: string) => median(measurementOf(result, id).rounds);

/** A target with what was measured. */
export interface CheckedTarget extends Target {
  readonly title: string;
  readonly value: number;
  readonly isMet: boolean;
}

/** Compares the medians with the targets. NaN misses every target. */
export function checkTargets(result: Result): CheckedTarget[] {
  return (result.targets ?? []).map((target) => {
    const value = medianOf(result, target.of);
    const { atLeast = -Infinity, atMost = Infinity } = target;
    const { title } = measurementOf(result, target.of);
    return { ...target, title, value, isMet: value >= atLeast && value <= atMost };
  });
}
