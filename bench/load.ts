/** Calls `work` `count` times, with this concurrency. @returns seconds for all calls */
export async function timed(
  { count, concurrency }: { count: number; concurrency: number },
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  const indexes = Array.from({ length: count }).keys();
  const workUntilDone = async () => {
    for (const index of indexes) await work(index);
  };
  await Promise.all(Array.from({ length: concurrency }, workUntilDone));
  return (performance.now() - startedAt) / 1000;
}

/** The value below which this share of the numbers lies; NaN without numbers. */
export function percentile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}
