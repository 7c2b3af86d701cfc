import { join } from 'node:path';
import type { Benchmark } from './harness/benchmark.ts';
import { lifecycleFailures, lifecycleMeasurements } from './lifecycle/report.ts';
import { measureSides } from './lifecycle/round.ts';
import type { Side } from './lifecycle/side.ts';
import { startSide } from './lifecycle/side.ts';

const CONCURRENCY = 64;
const SMALL = 16;
const LIFECYCLES = { full: 320, quick: 192 };

/** What a smaller cache of workflows costs. */
export const benchmark: Benchmark = {
  description: `Whole lifecycles of orders, ${CONCURRENCY} at a time, with a worker that keeps all of them in its cache (default), against one that keeps ${SMALL} (WORKER_MAX_CACHED_WORKFLOWS): nearly every message then meets an order whose history the worker reads and replays.`,
  async run({ quick }) {
    const folder = join(import.meta.dirname, '..');
    const sides: Side[] = [];
    try {
      sides.push(
        await startSide(folder, CONCURRENCY, { WORKER_MAX_CACHED_WORKFLOWS: String(SMALL) }),
      );
      sides.push(await startSide(folder, CONCURRENCY));
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
