import { join } from 'node:path';
import type { Benchmark } from './harness/benchmark.ts';
import { ROUNDS, timed } from './harness/rounds.ts';
import { measureSides } from './lifecycle/measure.ts';
import { newObservations } from './lifecycle/order-lifecycle.ts';
import type { Side } from './lifecycle/side.ts';
import { startSide } from './lifecycle/side.ts';

const CONCURRENCY = 32;
const SMALL = 16;
/** The open orders besides those in progress: ten times more than the small cache holds. */
const OPEN_ORDERS = 160;
const LIFECYCLES = { full: 320, quick: 192 };

/** What a smaller cache of workflows costs. */
export const benchmark: Benchmark = {
  description: `Whole lifecycles with a worker whose cache holds ${SMALL} orders beside ${OPEN_ORDERS} open ones, so that nearly every message meets an order that is read and replayed, against a cache that holds all.`,
  async run({ quick }) {
    const folder = join(import.meta.dirname, '..');
    const small = { WORKER_MAX_CACHED_WORKFLOWS: String(SMALL) };
    const sides: Side[] = [];
    try {
      sides.push(
        await startSide({ name: `cache of ${SMALL}`, folder, settings: small }, CONCURRENCY),
      );
      sides.push(await startSide({ name: 'default', folder }, CONCURRENCY));
      for (const { createOrder } of sides) {
        await timed({ count: OPEN_ORDERS, concurrency: CONCURRENCY }, () =>
          createOrder(newObservations()),
        );
      }
      return await measureSides(sides, {
        rounds: quick ? 2 : ROUNDS,
        warmUp: { count: 2 * CONCURRENCY, concurrency: CONCURRENCY },
        batch: { count: LIFECYCLES[quick ? 'quick' : 'full'], concurrency: CONCURRENCY },
      });
    } finally {
      await Promise.all(sides.map((side) => side.stop()));
    }
  },
};
