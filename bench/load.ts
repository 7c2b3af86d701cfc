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

/** Calls `work` as {@link timed} does. @returns calls per second */
export async function ratePerSecond(
  batch: { count: number; concurrency: number },
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  return batch.count / (await timed(batch, work));
}
