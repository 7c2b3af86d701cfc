import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isGrpcAlreadyExists, isGrpcNotFound } from './grpc-errors.ts';

const DAY_SECONDS = 24 * 3600;

/** A server reads its namespaces anew every ten seconds, unless it is told otherwise. */
const KNOWN_TIMEOUT_MS = 30_000;

/** @returns false when the server answers that there is no such namespace */
async function isFound(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (isGrpcNotFound(error)) return false;
    throw error;
  }
}

/**
 * Makes sure that a namespace exists and can be used. One that is there stays as it is.
 *
 * @param retentionDays how long closed workflows stay to be looked at; the service needs none of them
 * @throws when it cannot be registered, or is not usable within half a minute
 */
export async function ensureNamespace(
  client: Client,
  namespace: string,
  retentionDays = 7,
): Promise<void> {
  const { workflowService } = client.connection;
  if (await isFound(() => workflowService.describeNamespace({ namespace }))) return;
  try {
    await workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: { seconds: (retentionDays * DAY_SECONDS) as never },
    });
  } catch (error) {
    // Another process was faster.
    if (!isGrpcAlreadyExists(error)) throw error;
  }
  // It is in the database at once, and in the server's memory a moment later.
  const deadline = Date.now() + KNOWN_TIMEOUT_MS;
  while (!(await isFound(() => workflowService.countWorkflowExecutions({ namespace })))) {
    if (Date.now() > deadline) throw new Error(`Namespace ${namespace} is not usable`);
    await delay(50);
  }
}
