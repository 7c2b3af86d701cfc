import vm from 'node:vm';
import { getEnvironmentData } from 'node:worker_threads';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { BaseVMWorkflow, globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import { HAS_CALL_STACKS } from './workflow-threads.ts';

// Loaded in the SDK's thread of workflows before the SDK: see workflow-threads.ts.

// The method is private in the types alone.
if (!getEnvironmentData(HAS_CALL_STACKS))
  Object.assign(globalHandlers, { setPromiseHook: () => undefined });

let timeoutMs: number | undefined;
const createWorkflows = ReusableVMWorkflowCreator.create;
ReusableVMWorkflowCreator.create = async function create(bundle, limitMs, ...others) {
  timeoutMs = limitMs;
  // The calls within an activation have no limit of their own: see docs/adr/0016.
  const none = undefined as unknown as number;
  return Reflect.apply(createWorkflows, this, [bundle, none, ...others]);
};

/** What the next run of {@link WITHIN_LIMIT} calls. */
const next: { call: () => unknown } = { call: () => undefined };
Object.defineProperty(globalThis, '__nextActivation', { value: next });
const WITHIN_LIMIT = new vm.Script('__nextActivation.call()');

const activate = BaseVMWorkflow.prototype.activate;
BaseVMWorkflow.prototype.activate = async function activateWithinLimit(activation) {
  next.call = () => Reflect.apply(activate, this, [activation]);
  return WITHIN_LIMIT.runInThisContext({ timeout: timeoutMs }) as ReturnType<typeof activate>;
};
