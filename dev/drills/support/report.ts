import { setTimeout as delay } from 'node:timers/promises';

const startedAt = performance.now();

/** Prints a line, with the seconds since the process started. */
export function report(line: string): void {
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1).padStart(6);
  process.stdout.write(`${seconds} s  ${line}\n`);
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

/** A duration in seconds with one decimal. */
export const inSeconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;

const INTERVAL_MS = 200;

/**
 * Repeats a question until its answer is neither false nor undefined. An error counts as no answer:
 * servers are down during a drill.
 *
 * @param what completes "… within N s" in the failure
 * @throws Error when there is no answer in time
 */
export async function waitFor<Answer>(
  what: string,
  timeoutMs: number,
  ask: () => Promise<Answer | false | undefined> | Answer | false | undefined,
): Promise<Answer> {
  const deadline = Date.now() + timeoutMs;
  let latest: unknown;
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== false && answer !== undefined) return answer;
    } catch (error) {
      latest = error;
    }
    if (Date.now() > deadline) {
      throw new Error(`Not within ${timeoutMs / 1000} s: ${what}`, { cause: latest });
    }
    await delay(INTERVAL_MS);
  }
}
