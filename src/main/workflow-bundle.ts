import { fileURLToPath } from 'node:url';
import type { Logger, WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Bundles this checkout's workflow code, for workers and for replays. */
export function bundleWorkflows(logger: Logger): Promise<WorkflowBundleWithSourceMap> {
  const workflowsPath = fileURLToPath(new URL('../../workflows/index.ts', import.meta.url));
  return bundleWorkflowCode({ workflowsPath, logger });
}
