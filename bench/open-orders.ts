import { countOption } from '../src/main/process/command-line.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { alternate, ratioOf } from './harness/rounds.ts';
import { ratePerSecond, timed } from './load.ts';
import { CONCURRENCY, createPost, openOrders, waitUntilStarted } from './orders.ts';
import type { BenchService } from './servers.ts';
import { withService } from './servers.ts';

const OPTIONS = {
  orders: countOption(undefined, 'the number of open orders; 100000 by default', 100),
} as const;
const OPEN = { full: 100_000, quick: 1000 };
const ORDERS_PER_ROUND = { full: 500, quick: 200 };
const TARGET_RATIO = 0.85;
const PROGRESS_EVERY = 10_000;

/** POST /orders beside many open orders, against none. */
export const benchmark: Benchmark<typeof OPTIONS> = {
  description:
    'POST /orders of a service with 100,000 open orders against one with none, 32 at a time.',
  options: OPTIONS,
  async run({ quick, values }) {
    const size = quick ? 'quick' : 'full';
    const open = values.orders ?? OPEN[size];
    return withService({}, async (many) => {
      const seconds = await timed({ count: 1, concurrency: 1 }, () =>
        openOrders(many, open, (opened) => {
          if (opened % PROGRESS_EVERY === 0) console.log(`${opened} orders opened`);
        }),
      );
      console.log(`${open} orders opened in ${seconds.toFixed(0)} s`);
      await many.ownerSql`VACUUM ANALYZE`;
      return withService({}, async (none) => {
        const rates = await alternate({
          none: createSide(none, ORDERS_PER_ROUND[size]),
          many: createSide(many, ORDERS_PER_ROUND[size]),
        });
        const title = `POST /orders beside ${open.toLocaleString('en')} open orders`;
        return {
          measurements: [
            { id: 'many', title, unit: 'per second', rounds: rates.many },
            {
              id: 'none',
              title: 'POST /orders beside none',
              unit: 'per second',
              rounds: rates.none,
            },
            ratioOf({ id: 'ratio', title: `${title} against none` }, rates.many, rates.none),
            {
              id: 'opening',
              title: 'opening them, without HTTP',
              unit: 'per second',
              rounds: [open / seconds],
            },
          ],
          targets: [{ of: 'ratio', atLeast: TARGET_RATIO }],
        };
      });
    });
  },
};

function createSide(service: BenchService, count: number) {
  const post = createPost(service);
  return async () => {
    const rate = await ratePerSecond({ count, concurrency: CONCURRENCY }, post);
    await waitUntilStarted(service);
    return rate;
  };
}
