import { fileURLToPath } from 'node:url';
import type { Logger, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { bundleWorkflowCode } from '@temporalio/worker';

/** This checkout's workflows as one script, for workers and for replaying. */
export function bundleWorkflows(logger: Logger): Promise<WorkflowBundleWithSourceMap> {
  const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
  return bundleWorkflowCode({ workflowsPath, logger });
}
