const MAX_BATCHES_UNDER_WAY = 2;
const MAX_ITEMS = 200;

/**
 * Combines concurrent calls into batches, each of which is one SQL statement. A batch has all calls
 * of one turn of the event loop or, while the limit of batches is reached, all calls that wait: the
 * higher the load, the larger the batches. A single call does not wait for others, and calls with an
 * item that waits already share its result. A batch always begins after its calls, so what it reads is
 * never older than they are.
 *
 * @param run returns one result for each item, in order; when it fails, all calls of the batch fail
 * @param hangsAfterMs the time after which a batch no longer delays others: it may hang on a lost connection
 */
export function createBatches<Item, Result>(
  run: (items: Item[]) => Promise<Result[]>,
  hangsAfterMs?: number,
): (item: Item) => Promise<Result> {
  const waiting = new Map<Item, PromiseWithResolvers<Result>>();
  let underWay = 0;

  /** Counts a batch until it hangs or the returned function is called. */
  function beginCounting(): () => void {
    let isCounted = true;
    const end = () => {
      clearTimeout(timer);
      if (!isCounted) return;
      isCounted = false;
      underWay -= 1;
      void runNext();
    };
    const timer = hangsAfterMs === undefined ? undefined : setTimeout(end, hangsAfterMs);
    underWay += 1;
    return end;
  }

  async function runNext(): Promise<void> {
    if (waiting.size === 0 || underWay >= MAX_BATCHES_UNDER_WAY) return;
    const batch = [...waiting].slice(0, MAX_ITEMS);
    for (const [item] of batch) waiting.delete(item);
    const end = beginCounting();
    try {
      const results = await run(batch.map(([item]) => item));
      batch.forEach(([, { resolve }], index) => resolve(results[index] as Result));
    } catch (error) {
      for (const [, { reject }] of batch) reject(error);
    } finally {
      end();
    }
  }

  return (item) => {
    const shared = waiting.get(item);
    if (shared) return shared.promise;
    const own = Promise.withResolvers<Result>();
    waiting.set(item, own);
    if (waiting.size === 1) setImmediate(() => void runNext());
    return own.promise;
  };
}
