import workerThreads, { setEnvironmentData, type WorkerOptions } from 'node:worker_threads';

/** The key of the environment data that {@link prepareWorkflowThreads} sets for workflow-thread.ts. */
export const HAS_CALL_STACKS = 'workflow-call-stacks';

const PRELOADED = new URL('workflow-thread.ts', import.meta.url).href;

/**
 * Changes how the SDK's thread runs workflows, which took most of its time: see docs/adr/0016.
 *
 * - Without call stacks, no stack trace is taken for each promise of workflow code.
 * - An activation has one time limit, the SDK's 5 s, in the place of one for each call into the code:
 *   for each limit Node starts a thread.
 *
 * The SDK has no options for these. Call this once, before a worker is created.
 *
 * @param hasCallStacks whether Temporal's Web UI can show where a workflow's code waits
 */
export function prepareWorkflowThreads({ hasCallStacks }: { hasCallStacks: boolean }): void {
  setEnvironmentData(HAS_CALL_STACKS, hasCallStacks);
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      super(file, { ...options, execArgv: ['--import', PRELOADED] });
    }
  };
}
