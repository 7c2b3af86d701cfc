import { setTimeout as wait } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isGrpcNotFound } from './client.ts';

export interface WorkerVersion {
  deploymentName: string;
  buildId: string;
}

const POLL_INTERVAL_MS = 200;
/** Temporal updates each task queue of the version before it responds. */
const TEMPORAL_TIMEOUT_MS = 15_000;

/**
 * Makes a worker version current: it then receives every new workflow task. It first waits until the version has a
 * worker on each of the task queues, because tasks of a queue without one would not run.
 *
 * @returns the build that was current before (null if there was none), or the task queues without a worker of the
 * version after `waitMs`; nothing was changed then
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
    await wait(POLL_INTERVAL_MS);
  }
  // Temporal's response to the change also names the previous version. But if the change is repeated after a lost
  // response, that is the new version itself.
  const previousBuildId = await currentBuildId(client, version);
  const { namespace, identity } = client.options;
  const request = { namespace, identity, ...version };
  await withDeadline(client, () =>
    client.workflowService.setWorkerDeploymentCurrentVersion(request),
  );
  return { previousBuildId };
}

async function currentBuildId(client: Client, { deploymentName }: WorkerVersion) {
  const { namespace } = client.options;
  const { workerDeploymentInfo } = await withDeadline(client, () =>
    client.workflowService.describeWorkerDeployment({ namespace, deploymentName }),
  );
  return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId ?? null;
}

/** The task queues that workers of a version have polled. Empty for an unknown version. */
export async function taskQueuesOf(client: Client, version: WorkerVersion): Promise<Set<string>> {
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
