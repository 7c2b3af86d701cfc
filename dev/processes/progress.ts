/** How a progress line says how far the work is: for how long it has been done, by default. */
interface ProgressOptions {
  readonly everyMs?: number;
  readonly state?: () => string | Promise<string>;
}

/** Logs the start of the work, and every ten seconds how far it is. */
export async function withProgress<T>(
  log: (line: string) => void,
  what: string,
  work: () => Promise<T>,
  options: ProgressOptions = {},
): Promise<T> {
  const startedAt = performance.now();
  const elapsed = () => `${Math.round((performance.now() - startedAt) / 1000)} s`;
  const { everyMs = 10_000, state = elapsed } = options;
  log(`${what} …`);
  const timer = setInterval(async () => log(`${what} … ${await state()}`), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
