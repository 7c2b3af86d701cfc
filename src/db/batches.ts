const MAX_BATCHES_UNDER_WAY = 2;
const MAX_ITEMS = 200;

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Combines concurrent calls into batches, each of which is one SQL statement. A batch has all calls
 * of one turn of the event loop or, while the limit of batches is reached, all calls that wait: the
 * higher the load, the larger the batches. A single call does not wait for others.
 *
 * @param run returns one result for each item, in order; when it fails, all calls of the batch fail
 */
export function createBatches<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let underWay = 0;

  async function runNext(): Promise<void> {
    if (waiting.length === 0 || underWay >= MAX_BATCHES_UNDER_WAY) return;
    const batch = waiting.splice(0, MAX_ITEMS);
    underWay += 1;
    try {
      const results = await run(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, index) => resolve(results[index] as Result));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      underWay -= 1;
      void runNext();
    }
  }

  return (item) => {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    waiting.push({ item, resolve, reject });
    if (waiting.length === 1) setImmediate(() => void runNext());
    return promise;
  };
}
