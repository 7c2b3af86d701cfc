import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isGrpcNotFound } from './grpc-errors.ts';

/** A version of the workers' code, as its settings name it. */
export interface WorkerVersion {
  deploymentName: string;
  buildId: string;
}

const LOOK_EVERY_MS = 200;
/** Temporal tells each of the version's task queues before it answers. */
const TEMPORAL_TIMEOUT_MS = 15_000;

/**
 * Makes a version of the workers current: from then on it gets the tasks of every order, at each
 * order's next one. Waits until it has a worker on each of these task queues, because a queue without
 * one would stand still from then on.
 *
 * @returns the build that was current before; null when there was none, or workers without a version.
 *   Of the queues, those that nobody serves yet, when the time is over: then nothing was changed.
 */
export async function makeVersionCurrent(
  client: Client,
  version: WorkerVersion,
  { taskQueues, waitMs }: { taskQueues: readonly string[]; waitMs: number },
): Promise<{ previousBuildId: string | null } | { unserved: string[] }> {
  const endsAtMs = Date.now() + waitMs;
  for (;;) {
    const served = await taskQueuesOf(client, version);
    const unserved = taskQueues.filter((name) => !served.has(name));
    if (unserved.length === 0) break;
    if (Date.now() > endsAtMs) return { unserved };
    await wait(LOOK_EVERY_MS);
  }
  const { namespace, identity } = client.options;
  const request = { namespace, identity, ...version };
  const { previousDeploymentVersion } = await withDeadline(client, () =>
    client.workflowService.setWorkerDeploymentCurrentVersion(request),
  );
  return { previousBuildId: previousDeploymentVersion?.buildId ?? null };
}

/** The task queues on which a version has been seen; none while Temporal does not know it. */
async function taskQueuesOf(client: Client, version: WorkerVersion): Promise<Set<string>> {
  const { namespace } = client.options;
  try {
    const request = { namespace, deploymentVersion: version };
    const { versionTaskQueues } = await withDeadline(client, () =>
      client.workflowService.describeWorkerDeploymentVersion(request),
    );
    return new Set(versionTaskQueues.map(({ name }) => name ?? ''));
  } catch (error) {
    if (isGrpcNotFound(error)) return new Set();
    throw error;
  }
}

function withDeadline<Answer>(client: Client, call: () => Promise<Answer>): Promise<Answer> {
  return client.withDeadline(Date.now() + TEMPORAL_TIMEOUT_MS, call);
}
