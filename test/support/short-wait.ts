import { setTimeout as delay } from 'node:timers/promises';

const MOST_MS = 100;

/** Replaces a wait of a program under test: at most 100 ms, and less when the program is asked to end. */
export async function shortWait(ms: number, signal: AbortSignal): Promise<void> {
  await delay(Math.min(ms, MOST_MS), undefined, { signal }).catch(() => undefined);
}
