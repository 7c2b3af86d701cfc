import { env } from 'node:process';
import { defineConfig, mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

const HOUR_MS = 3_600_000;

/** Tests of the other suites in these sizes: `npm run test:load`. */
const SIZES = {
  LOAD_UPDATES: '12500',
  LOAD_SIGNALS: '12500',
  RANDOM_SEEDS: '100',
  RANDOM_ORDERS: '300',
};

/** Load tests, one after the other, with the machine to themselves: `npm run test:load`. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [], exclude: [] } },
  defineConfig({
    test: {
      root: '.',
      include: [
        'test/workflows/long-orders.long.test.ts',
        'test/randomised/randomised.long.test.ts',
      ],
      env: Object.fromEntries(
        Object.entries(SIZES).map(([name, size]) => [name, env[name] ?? size]),
      ),
      maxWorkers: 1,
      maxConcurrency: 1,
      testTimeout: HOUR_MS,
      hookTimeout: HOUR_MS,
      retry: 0,
    },
  }),
);
