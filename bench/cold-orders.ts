import { join } from 'node:path';
import type { Benchmark } from './harness/benchmark.ts';
import { newObservations } from './lifecycle/order-lifecycle.ts';
import { lifecycleFailures, lifecycleMeasurements } from './lifecycle/report.ts';
import { measureSides } from './lifecycle/round.ts';
import type { Side } from './lifecycle/side.ts';
import { startSide } from './lifecycle/side.ts';
import { timed } from './load.ts';

const CONCURRENCY = 32;
const SMALL = 16;
/** Beside those under way, ten times more than the small cache holds. */
const OPEN_ORDERS = 160;
const LIFECYCLES = { full: 320, quick: 192 };

/** What a smaller cache of workflows costs. */
export const benchmark: Benchmark = {
  description: `Whole lifecycles with a worker whose cache holds ${SMALL} orders beside ${OPEN_ORDERS} open ones, so that nearly every message meets an order that is read and replayed, against a cache that holds all.`,
  async run({ quick }) {
    const folder = join(import.meta.dirname, '..');
    const sides: Side[] = [];
    try {
      sides.push(
        await startSide(folder, CONCURRENCY, { WORKER_MAX_CACHED_WORKFLOWS: String(SMALL) }),
      );
      sides.push(await startSide(folder, CONCURRENCY));
      for (const { createOrder } of sides) {
        await timed({ count: OPEN_ORDERS, concurrency: CONCURRENCY }, () =>
          createOrder(newObservations()),
        );
      }
      const measured = await measureSides(
        sides.map((side, index) => ({ name: index === 0 ? `cache of ${SMALL}` : 'default', side })),
        {
          rounds: quick ? 2 : 5,
          warmUp: { count: 2 * CONCURRENCY, concurrency: CONCURRENCY },
          batch: { count: LIFECYCLES[quick ? 'quick' : 'full'], concurrency: CONCURRENCY },
        },
      );
      return { measurements: lifecycleMeasurements(measured), ...lifecycleFailures(measured) };
    } finally {
      await Promise.all(sides.map((side) => side.stop()));
    }
  },
};
