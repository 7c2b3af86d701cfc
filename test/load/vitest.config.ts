import { defineConfig, mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

const HOUR_MS = 3_600_000;

/** Load tests, one after the other, with the machine to themselves: `npm run test:load`. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({
    test: {
      root: '.',
      include: ['test/load/**/*.load.ts'],
      maxWorkers: 1,
      testTimeout: HOUR_MS,
      hookTimeout: HOUR_MS,
      retry: 0,
    },
  }),
);
