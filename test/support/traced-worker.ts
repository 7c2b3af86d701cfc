import type { WorkerOptions } from '@temporalio/worker';
import { loadWorkflows } from '../../src/main/workflow-bundle.ts';
import { startSdk } from '../../src/tracing/sdk.ts';
import { interceptorsOf } from '../../src/tracing/temporal.ts';
import { once } from './fixtures.ts';

const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** What a worker in this process has with tracing. Its spans go nowhere: nothing listens at port 9. */
export const tracedWorker = once(async (): Promise<Partial<WorkerOptions>> => {
  const sdk = startSdk({
    endpoint: 'http://127.0.0.1:9',
    headers: {},
    serviceName: 'recorder',
    sampler: 'always_on',
    samplerRatio: 1,
    onFailure: () => {},
  });
  const workflowBundle = await loadWorkflows({ workflowBundle: undefined }, silent, {
    isTraced: true,
  });
  return { ...interceptorsOf(sdk).worker, workflowBundle };
});
