import { setTimeout as delay } from 'node:timers/promises';
import { DrillFailure } from './report.ts';

const INTERVAL_MS = 200;

/**
 * Repeats a question until its answer is neither false nor undefined. An error counts as no answer:
 * servers are down during a drill.
 *
 * @param what completes "… within N s" in the failure
 * @throws DrillFailure when there is no answer in time
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
      throw new DrillFailure(`Not within ${timeoutMs / 1000} s: ${what}`, { cause: latest });
    }
    await delay(INTERVAL_MS);
  }
}
