import type { WorkerOptions } from '@temporalio/worker';
import type { Activities } from '../../src/contracts/activities.ts';
import type { TestService } from './service.ts';

export interface WorkerSetup {
  options?: Partial<WorkerOptions>;
  /** Activities that replace the service's own. */
  activities?: (service: TestService) => Partial<Activities>;
}

/** The one worker of a test file, which can be stopped and started again. */
export function restartableWorker(service: TestService, setup: WorkerSetup = {}) {
  let running: Awaited<ReturnType<TestService['startWorker']>> | undefined;

  async function start(): Promise<void> {
    running ??= await service.startWorker(setup.activities?.(service), setup.options);
  }
  async function stop(): Promise<void> {
    const stopping = running;
    running = undefined;
    await stopping?.stop();
  }

  return {
    start,
    stop,
    /** Runs an action while no worker runs; the worker is started again, even if the action fails. */
    async whileStopped<T>(action: () => Promise<T>): Promise<T> {
      await stop();
      try {
        return await action();
      } finally {
        await start();
      }
    },
  };
}
export type TestWorker = ReturnType<typeof restartableWorker>;
