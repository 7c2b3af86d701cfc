import { env } from 'node:process';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // More than the two processors: much of the time a test waits for a server.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Real servers on a shared machine can be starved for a minute. A test that needs its second
    // try is named in the output; by hand there is none.
    retry: env['CI'] ? 1 : 0,
  },
});
