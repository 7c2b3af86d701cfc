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
  // A state that cannot be read, such as the size of files that are moved just then, is left out.
  const show = async () => log(`${what} … ${await state()}`);
  const timer = setInterval(() => void show().catch(() => undefined), everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
