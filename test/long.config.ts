import { defineConfig } from 'vitest/config';
import base from '../vitest.config.ts';
import { HANGS_MS } from './support/time-limits.ts';

/** A test of this suite does a thing a thousand times, or waits for outages to end. */
const HANGS_AFTER_MS = 3 * HANGS_MS;

/** The suite of `npm run test:long`: see test/README.md. */
export default defineConfig({
  test: {
    ...base.test,
    globalSetup: ['test/support/global-setup.ts', 'test/support/temporal-programs-setup.ts'],
    root: '.',
    include: ['test/**/*.long.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: HANGS_AFTER_MS,
    hookTimeout: HANGS_AFTER_MS,
  },
});
