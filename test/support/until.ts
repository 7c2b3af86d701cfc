import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 90_000;
/** Short at first, because most waits are short; longer later, because each check takes processor time. */
const FIRST_INTERVAL_MS = 10;
const LAST_INTERVAL_MS = 100;

/** Checks a condition repeatedly until it is true; fails after a minute and a half. */
export async function until<T>(condition: () => T | Promise<T>): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (
    let intervalMs = FIRST_INTERVAL_MS;
    ;
    intervalMs = Math.min(intervalMs * 1.5, LAST_INTERVAL_MS)
  ) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline)
      throw new Error(`Not true within ${TIMEOUT_MS} ms: ${condition.toString()}`);
    await delay(intervalMs);
  }
}
