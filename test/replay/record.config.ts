import { defineConfig, mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';

/** Runs the recorder instead of the tests: see `record-histories.ts`. */
export default mergeConfig(
  { ...base, test: { ...base.test, include: [] } },
  defineConfig({ test: { root: '.', include: ['test/replay/record-histories.ts'] } }),
);
