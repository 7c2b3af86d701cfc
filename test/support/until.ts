import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 30_000;
const INTERVAL_MS = 20;

/** Waits until something has become true, looking again and again; fails after half a minute. */
export async function until<T>(condition: () => T | Promise<T>): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline)
      throw new Error(`Not true within ${TIMEOUT_MS} ms: ${condition.toString()}`);
    await delay(INTERVAL_MS);
  }
}
