import { vi } from 'vitest';

/** Sets this process's monotonic clock forward, until `stop`. Timers do not notice it. */
export function moveMonotonicClock(ms: number) {
  const realNowMs = performance.now.bind(performance);
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => realNowMs() + ms);
  return { stop: () => spy.mockRestore() };
}
