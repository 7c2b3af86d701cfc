import { setTimeout as delay } from 'node:timers/promises';
import { UNTIL_MS } from './time-limits.ts';

/** Short at first, because most waits are short; longer later, because each check takes processor time. */
const FIRST_INTERVAL_MS = 10;
const LAST_INTERVAL_MS = 100;

/** Checks a condition repeatedly until it is true; fails when that hangs. */
export async function until<T>(condition: () => T | Promise<T>) {
  const deadline = Date.now() + UNTIL_MS;
  for (
    let intervalMs = FIRST_INTERVAL_MS;
    ;
    intervalMs = Math.min(intervalMs * 1.5, LAST_INTERVAL_MS)
  ) {
    const value = await condition();
    if (value) return value as Exclude<T, false | null | undefined>;
    if (Date.now() > deadline) throw new Error(`Still not true: ${condition.toString()}`);
    await delay(intervalMs);
  }
}
