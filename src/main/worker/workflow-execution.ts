import vm from 'node:vm';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';
import { BaseVMWorkflow, globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

const ACTIVATION_TIMEOUT_MS = 1000;

/** The worker options with which workflows run in the worker's own thread: docs/adr/0016. */
export function runWorkflowsInThisThread(): { debugMode: true } {
  // The hook would be called for each promise of the process, not only for those of workflows.
  Object.assign(globalHandlers, { setPromiseHook: () => undefined });
  // No limit for each call into workflow code: for each limit Node starts a thread and ends it.
  const { create } = ReusableVMWorkflowCreator;
  ReusableVMWorkflowCreator.create = async function createUnlimited(bundle, _limitMs, ...others) {
    return Reflect.apply(create, this, [bundle, undefined as never, ...others]);
  };
  // One limit for the calls of an activation, all of which are made before its promise is returned.
  const next: { call: () => unknown } = { call: () => undefined };
  Object.defineProperty(globalThis, '__nextActivation', { value: next });
  const script = new vm.Script('__nextActivation.call()');
  const { activate } = BaseVMWorkflow.prototype;
  BaseVMWorkflow.prototype.activate = async function activateWithinLimit(activation) {
    next.call = () => Reflect.apply(activate, this, [activation]);
    return script.runInThisContext({ timeout: ACTIVATION_TIMEOUT_MS }) as ReturnType<
      typeof activate
    >;
  };
  return { debugMode: true };
}
