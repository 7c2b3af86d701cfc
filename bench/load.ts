/** What the benchmarks' merchant sells. */
export const ORDER = {
  amount: 499.5,
  buyerEmail: 'asha@example.com',
  buyerPhone: '+919876543210',
  description: 'Blue kurta, size M',
};

/** The same, as it is once validated. */
export const VALID_ORDER = { ...ORDER, buyerName: null, merchantOrderId: null, currency: null };

/** @returns seconds for all of them, so many at once */
export async function timed(
  { count, concurrency }: { count: number; concurrency: number },
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const startedAt = performance.now();
  const indexes = Array.from({ length: count }).keys();
  const takeTurns = async () => {
    for (const index of indexes) await work(index);
  };
  await Promise.all(Array.from({ length: concurrency }, takeTurns));
  return (performance.now() - startedAt) / 1000;
}
