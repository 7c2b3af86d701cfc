import { join } from 'node:path';
import { env } from 'node:process';
import { defineConfig } from 'vitest/config';
import { loadConfig } from './src/config.ts';
import { cacheRoot } from './src/local/cache.ts';

// Each test file is a process of its own, and many start others: what Node compiled once is kept.
env['NODE_COMPILE_CACHE'] ??= join(cacheRoot(loadConfig().cacheHome), 'node-compile-cache');

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // More than the two processors: much of the time a test waits for a server.
    maxWorkers: 4,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Real servers on a shared machine can be starved for a minute. A test that needs its second
    // try is named in the output; by hand there is none.
    retry: env['CI'] ? 1 : 0,
  },
});
