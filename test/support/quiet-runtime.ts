import { DefaultLogger, Runtime } from '@temporalio/worker';

/**
 * Temporal's runtime for workers in this process: it logs only errors and leaves signals to vitest.
 * A process runs several test files and has one runtime: the first call creates it.
 */
export function installQuietRuntime(): void {
  try {
    Runtime.install({ logger: new DefaultLogger('ERROR'), shutdownSignals: [] });
  } catch {
    // An earlier test file has installed it.
  }
}
