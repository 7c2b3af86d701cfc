import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Temporal's runtime for workers in this process: it logs errors alone, and leaves signals to vitest.
 * A process runs test file after test file, and has one runtime: the first call makes it.
 */
export function installQuietRuntime(): void {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  } catch {
    // An earlier file has installed it.
  }
}
