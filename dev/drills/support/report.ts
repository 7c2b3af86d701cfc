const startedAt = performance.now();

/** A duration in seconds with one decimal. */
export const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

/** Prints a line, with the seconds since the process started. */
export function report(line: string): void {
  process.stdout.write(`${inSeconds(performance.now() - startedAt).padStart(8)}  ${line}\n`);
}

let failures = 0;

/** Prints a claim with its figures. A drill whose claim does not hold continues, and then fails. */
export function prove(claim: string, holds: boolean, figures = ''): void {
  const text = figures.trim() === '' ? claim : `${claim}: ${figures.trim()}`;
  report(`${holds ? 'proved' : 'FAILED'}  ${text}`);
  if (!holds) failures += 1;
}

/** Ends a drill. @throws Error when a claim did not hold */
export function requireProved(): void {
  const found = failures;
  failures = 0;
  if (found > 0) throw new Error(`${found} claims do not hold`);
}

const MOST_SHOWN = 5;

/** The first few of a list, for a message. */
export function firstOf(problems: readonly string[]): string {
  const more = problems.length - MOST_SHOWN;
  return problems.slice(0, MOST_SHOWN).join('; ') + (more > 0 ? ` … and ${more} more` : '');
}
