import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isGrpcAlreadyExists, isGrpcNotFound } from './client.ts';

const DAY_SECONDS = 24 * 3600;

/** By default, a server refreshes its namespaces every ten seconds. */
const USABLE_TIMEOUT_MS = 30_000;

/** @returns false when the call fails with NOT_FOUND */
async function exists(call: () => Promise<unknown>): Promise<boolean> {
  try {
    await call();
    return true;
  } catch (error) {
    if (isGrpcNotFound(error)) return false;
    throw error;
  }
}

/**
 * Registers a namespace unless it exists, and waits until it is usable. It does not change an existing one.
 *
 * @param retentionDays how long closed workflows can be inspected; the service does not need them
 * @throws Error when it cannot be registered, or is not usable within half a minute
 */
export async function ensureNamespace(
  client: Client,
  namespace: string,
  retentionDays = 7,
): Promise<void> {
  const { workflowService } = client.connection;
  if (await exists(() => workflowService.describeNamespace({ namespace }))) return;
  try {
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: (retentionDays * DAY_SECONDS) as never },
    });
  } catch (error) {
    // Another process has registered it in the meantime.
    if (!isGrpcAlreadyExists(error)) throw error;
  }
  // The server's cache has it a moment later than its database.
  const deadline = Date.now() + USABLE_TIMEOUT_MS;
  while (!(await exists(() => workflowService.countWorkflowExecutions({ namespace })))) {
    if (Date.now() > deadline) throw new Error(`Namespace ${namespace} is not usable`);
    await delay(50);
  }
}
