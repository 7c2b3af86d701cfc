import type { Logger } from 'pino';
import { runWithOrderNumber } from './http/request-context.ts';

/**
 * Processes items with limited concurrency. Each log line carries the number of the item's order. A
 * failure is logged and does not stop the other items: a later run retries the item.
 *
 * @param options.concurrency how many items are processed at the same time
 * @param options.isOver checked before each item: when it returns true, the remaining items are skipped
 * @returns how many have failed
 */
export async function forEachOrder<Item extends { orderNumber: string | null }>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
  options: { log: Logger; concurrency: number; isOver?: () => boolean },
): Promise<number> {
  const { log, concurrency, isOver = () => false } = options;
  const queue = items.values();
  let failed = 0;
  async function processQueue(): Promise<void> {
    for (const item of queue) {
      if (isOver()) return;
      await runWithOrderNumber(item.orderNumber ?? '', () =>
        work(item).catch((err: unknown) => {
          failed += 1;
          log.warn({ err }, 'Failed: a later run retries this order');
        }),
      );
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, processQueue));
  return failed;
}
