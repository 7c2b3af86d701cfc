import { SetupError } from '../../src/setup-error.ts';

/** Stops what a run has started. */
export interface Teardown {
  /**
   * Adds a step.
   *
   * @throws SetupError after it has done the step when the teardown has begun
   */
  defer(step: () => Promise<void>): Promise<void>;
  /** Does every step, the last first. Further calls wait for the first. */
  run(): Promise<void>;
}

/** Creates a teardown without steps. */
export function createTeardown(): Teardown {
  const steps: (() => Promise<void>)[] = [];
  let running: Promise<void> | undefined;
  async function runAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const step of steps.toReversed()) {
      await step().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, 'Not everything was stopped');
  }
  return {
    async defer(step) {
      if (running === undefined) {
        steps.push(step);
        return;
      }
      await step();
      throw new SetupError('Stopping');
    },
    run: () => (running ??= runAll()),
  };
}
