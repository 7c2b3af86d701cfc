import type { Measurement } from './benchmark.ts';
import type { CheckedTarget, Result } from './results.ts';
import { checkTargets } from './results.ts';
import { median } from './statistics.ts';

/** A number with three or four significant digits, without an exponent. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1000) return Math.round(value).toLocaleString('en');
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

/** Median, least and most of the rounds. */
export function spreadOf({ rounds }: Measurement) {
  return { median: median(rounds), least: Math.min(...rounds), most: Math.max(...rounds) };
}

/** A target as a text: `at least 0.85: 0.91, met`. */
function targetText({ atLeast, atMost, value, isMet }: CheckedTarget): string {
  const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
  return `${bound}: ${numberText(value)}, ${isMet ? 'met' : 'MISSED'}`;
}

/** A line of a table: titles are on the left, numbers on the right. */
function line(title: string, cells: readonly string[]): string {
  return title.padEnd(58) + cells.map((cell) => cell.padStart(12)).join('');
}

/** One result as a plain-text table. */
export function resultText(result: Result): string {
  const { name, description, measurements, notes = [], failures = [] } = result;
  const rows = measurements.map((measurement) => {
    const { median: middle, least, most } = spreadOf(measurement);
    const numbers = [middle, least, most].map(numberText);
    return `${line(measurement.title, numbers)}  ${measurement.unit}`;
  });
  const targets = checkTargets(result).map((target) => `${target.title}: ${targetText(target)}`);
  return [
    `${name}: ${description}`,
    '',
    line('', ['median', 'least', 'most']),
    ...rows,
    '',
    ...targets,
    ...notes,
    ...failures.map((failure) => `FAILED: ${failure}`),
    `Everything else on this machine used ${result.othersPercent.toFixed(0)} % of one processor. ${result.command}, ${result.startedAt}, ${result.seconds.toFixed(0)} s, commit ${result.machine.commit}.`,
    '',
  ].join('\n');
}

/** The report of several results: every target first, then each result. */
export function reportText(results: readonly Result[], missing: readonly string[] = []): string {
  const targets = results.flatMap((result) =>
    checkTargets(result).map((target) => ({ result, target })),
  );
  const missed = targets.filter(({ target }) => !target.isMet);
  const failed = results.filter(({ failures = [] }) => failures.length > 0);
  const summary = [
    `${targets.length - missed.length} of ${targets.length} targets are met.`,
    ...missed.map(({ target }) => `MISSED  ${target.title}: ${targetText(target)}`),
    ...failed.map(({ name }) => `FAILED  ${name}: see below`),
    ...missing.map((name) => `FAILED  ${name}: it ended without a result`),
  ];
  const machine = results[0]?.machine;
  const where =
    machine &&
    `${machine.processors} × ${machine.processor}, ${machine.memoryGiB} GiB, ${machine.system}, Node ${machine.node}`;
  return [...(where ? [where] : []), ...summary, '', ...results.map(resultText)].join('\n');
}

/** Whether a result misses a target or has a failure. */
export function isGood(result: Result): boolean {
  return checkTargets(result).every(({ isMet }) => isMet) && (result.failures ?? []).length === 0;
}
