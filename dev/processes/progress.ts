/** Logs the start of the work, and every ten seconds that it continues. */
export async function withProgress<T>(
  log: (line: string) => void,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  log(`${what} …`);
  const timer = setInterval(() => {
    log(`${what} … ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, 10_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
