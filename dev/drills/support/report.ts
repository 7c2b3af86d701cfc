/** A drill cannot continue, or one of its claims does not hold. */
export class DrillFailure extends Error {
  override readonly name = 'DrillFailure';
}

const startedAt = performance.now();

/** Prints a line, with the seconds since the process started. */
export function report(line: string): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
  process.stdout.write(`${seconds} s  ${line}\n`);
}

let failures: string[] = [];

/** Prints a claim with its figures. A drill whose claim does not hold continues, and then fails. */
export function prove(claim: string, holds: boolean, figures = ''): void {
  const text = figures === '' ? claim : `${claim}: ${figures}`;
  report(`${holds ? 'proved' : 'FAILED'}  ${text}`);
  if (!holds) failures.push(text);
}

/** Ends a drill. @throws DrillFailure when a claim did not hold */
export function requireProved(): void {
  const found = failures;
  failures = [];
  if (found.length > 0) throw new DrillFailure(`${found.length} claims do not hold`);
}

/** The first few of a list, for a message. */
export function firstOf(problems: readonly string[], count = 5): string {
  const more = problems.length > count ? ` … and ${problems.length - count} more` : '';
  return `${problems.slice(0, count).join('; ')}${more}`;
}

/** A duration in seconds with one decimal. */
export const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** The largest number, 0 of none. */
export const largest = (numbers: readonly number[]) => numbers.reduce((a, b) => Math.max(a, b), 0);
