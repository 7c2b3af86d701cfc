import { join } from 'node:path';
import { env } from 'node:process';
import { defineConfig } from 'vitest/config';
import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';
import { loadDevConfig } from './dev/config.ts';
import { cacheRoot } from './dev/files/cache.ts';

// Many tests start processes of their own: what Node compiled once is kept for them.
env['NODE_COMPILE_CACHE'] ??= join(cacheRoot(loadDevConfig().cacheHome), 'node-compile-cache');

/**
 * The longest file, and with it those that mostly wait for time-outs of real servers: begun last,
 * they end alone, and next to files that wait the longest one has the processors for itself.
 */
const BEGIN_FIRST = [
  'randomised/randomised',
  'payments/cancel-versus-pay',
  'workflows/long-orders',
  'payments/dying-worker',
  'webhooks/manual-retry-crash',
  'workflows/webhook-killed-worker',
  'webhooks/dead-endpoints',
  'workflows/order-workers',
  'payments/reconciliation-500',
].map((name) => join(import.meta.dirname, 'test', `${name}.test.ts`));

class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) =>
      BEGIN_FIRST.includes(moduleId) ? BEGIN_FIRST.indexOf(moduleId) : BEGIN_FIRST.length;
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b));
  }
}

/**
 * A call of the Temporal client that waits to be tried again when its connection is closed throws in
 * a timer, after the test whose server was away has ended.
 */
const isRetryAfterClose = ({ message, stack }: { message: string; stack?: string }) =>
  message === 'Channel has been shut down' && /@temporalio.client.lib.grpc-retry/.test(stack ?? '');

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // A process runs file after file: each file releases what it started, and the libraries are
    // loaded once for many of them. Measured, it is an eighth of the whole run.
    isolate: false,
    // More than the two processors: much of the time a test waits for a server.
    maxWorkers: 3,
    sequence: { sequencer: LongFilesFirst },
    onUnhandledError: (error) => !isRetryAfterClose(error),
    testTimeout: 180_000,
    hookTimeout: 300_000,
    // Real servers on a shared machine can be starved for a minute. A test that needs its second
    // try is named in the output; by hand there is none.
    retry: env['CI'] ? 1 : 0,
  },
});
