import type { Logger } from 'pino';

/** Work that continues after the call that began it. */
export interface BackgroundWork {
  /**
   * Begins work without waiting for it. What it throws is logged.
   *
   * @param work its signal is aborted when the process ends: it must not wait any longer
   */
  begin(work: (signal: AbortSignal) => Promise<void>): void;
  /** Waits until everything has ended: before the process closes what the work needs. */
  finish(): Promise<void>;
}

/** @param log where failures go */
export function createBackgroundWork(log: Logger): BackgroundWork {
  const underWay = new Set<Promise<void>>();
  const ending = new AbortController();
  return {
    begin(work) {
      const ended = work(ending.signal)
        .catch((err: unknown) => log.warn({ err }, 'Background work failed'))
        .finally(() => underWay.delete(ended));
      underWay.add(ended);
    },
    async finish() {
      ending.abort();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
