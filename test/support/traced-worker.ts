import type { WorkerOptions } from '@temporalio/worker';
import { startSdk } from '../../src/tracing/sdk.ts';
import { interceptorsOf } from '../../src/tracing/temporal.ts';
import { once } from './fixtures.ts';
import { tracedWorkflowBundle } from './workflow-bundle.ts';

/** What a worker in this process has with tracing. Its spans go nowhere: nothing listens at port 9. */
export const tracedWorker = once(async (): Promise<Partial<WorkerOptions>> => {
  const sdk = startSdk({
    endpoint: 'http://127.0.0.1:9',
    headers: {},
    serviceName: 'recorder',
    samplerRatio: 1,
    onFailure: () => {},
  });
  return { ...interceptorsOf(sdk).worker, workflowBundle: await tracedWorkflowBundle() };
});
