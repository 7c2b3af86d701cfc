/** Counts what is under way, and tells when it is nothing. */
export interface Counter {
  during(work: Promise<void>): Promise<void>;
  idle(): Promise<void>;
}

/** Starts at nothing. */
export function createCounter(): Counter {
  let running = 0;
  let waiting: (() => void)[] = [];
  return {
    async during(work) {
      running += 1;
      await work.finally(() => (running -= 1));
      if (running > 0) return;
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    idle: () =>
      new Promise((resolve) => {
        if (running === 0) resolve();
        else waiting.push(resolve);
      }),
  };
}
