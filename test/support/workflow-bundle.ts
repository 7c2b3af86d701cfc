import { inject } from 'vitest';
import { loadWorkflows } from '../../src/main/worker/workflow-bundle.ts';
import { once } from './fixtures.ts';

const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

const load = (isTraced: boolean) =>
  loadWorkflows({ workflowBundle: inject('workflowBundlePath') }, SILENT, { isTraced });

/** The workflows, bundled once for all workers of the run. */
export const workflowBundle = once(() => load(false));

/** The same with spans. */
export const tracedWorkflowBundle = once(() => load(true));
