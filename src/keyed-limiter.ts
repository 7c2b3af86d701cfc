interface Queue {
  active: number;
  waiting: (() => void)[];
}

/** How many calls for a key may wait, and what is done instead of one that would wait behind them. */
interface Limit<T> {
  readonly maxWaiting: number;
  readonly instead: () => T;
}

/**
 * Limits how many calls for the same key run concurrently; the others wait in FIFO order. A call
 * that fails frees its slot like one that succeeds.
 *
 * @returns a function that runs a call under a key, and returns its result or error. Without a limit,
 *   any number of calls wait
 */
export function createKeyedLimiter(maxConcurrent: number) {
  /** Only keys with a call under way. */
  const queues = new Map<string, Queue>();

  return async function limited<T>(
    key: string,
    call: () => Promise<T>,
    limit?: Limit<T>,
  ): Promise<T> {
    const queue = queues.get(key) ?? { active: 0, waiting: [] };
    queues.set(key, queue);
    if (queue.active < maxConcurrent) queue.active += 1;
    else if (limit && queue.waiting.length >= limit.maxWaiting) return limit.instead();
    else await new Promise<void>((start) => queue.waiting.push(start));
    try {
      return await call();
    } finally {
      // The next call takes over this one's slot.
      const start = queue.waiting.shift();
      if (start) start();
      else if (--queue.active === 0) queues.delete(key);
    }
  };
}
