import type { Logger } from 'pino';
import { runWithOrderNumber } from './http/request-context.ts';

/**
 * Works on orders a few at a time. One that fails is logged, and stops no other: it comes again with
 * a later run.
 *
 * @param options.isOver asked before each order: true leaves the rest
 */
export async function forEachOrder<Item>(
  items: readonly Item[],
  orderNumberOf: (item: Item) => string,
  work: (item: Item) => Promise<unknown>,
  options: { log: Logger; concurrency: number; isOver?: () => boolean },
): Promise<void> {
  const { log, concurrency, isOver = () => false } = options;
  const queue = items.values();
  async function takeTurns(): Promise<void> {
    for (const item of queue) {
      if (isOver()) return;
      await runWithOrderNumber(orderNumberOf(item), () =>
        work(item).catch((err: unknown) => log.warn({ err }, 'Left to a later run')),
      );
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, takeTurns));
}
