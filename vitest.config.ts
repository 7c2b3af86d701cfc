import { join } from 'node:path';
import { env } from 'node:process';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { cacheRoot } from './dev/files/cache.ts';
import { isLostTypesQuery } from './src/db/client.ts';
import { HANGS_MS, UNTIL_MS } from './test/support/time-limits.ts';

// Many tests start processes of their own: what Node compiled once is kept for them.
env['NODE_COMPILE_CACHE'] ??= join(cacheRoot(), 'node-compile-cache');

/**
 * A call of the Temporal client that waits to be tried again when its connection is closed throws in
 * a timer, after the test whose server was away has ended.
 */
const isRetryAfterClose = ({ message, stack }: { message: string; stack?: string }) =>
  message === 'Channel has been shut down' && /@temporalio.client.lib.grpc-retry/.test(stack ?? '');

/** Files that are short and take long. vitest begins with the largest, and these would run alone at the end. */
const SHORT_AND_LONG =
  /\/(journeys\/|checkout\/every-state|repository\/expressions|randomised\/|workflows\/killed-at-each|dashboard\/(hostile-input|accessibility))/;

class LongOnesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => Number(!SHORT_AND_LONG.test(moduleId));
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

/** The suite of `npm test`: see test/README.md. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/node_modules/**', 'test/**/*.long.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    // A process runs file after file: each file releases what it started, and the libraries are
    // loaded once for many of them. Measured, it is an eighth of the whole run.
    isolate: false,
    // More than the two processors: much of the time a test waits for a server.
    maxWorkers: 4,
    sequence: { sequencer: LongOnesFirst },
    // Of libraries, in the test's own process. The service ignores the second one, too. Once a process has replayed a
    // workflow, Temporal's SDK throws an error of its own, whose cause it is.
    onUnhandledError: (error) =>
      !isRetryAfterClose(error) && !isLostTypesQuery(error.cause ?? error),
    testTimeout: HANGS_MS,
    hookTimeout: HANGS_MS,
    expect: { poll: { timeout: UNTIL_MS, interval: 20 } },
    retry: 0,
  },
});
