import { TASK_QUEUES } from '../../contracts/ids.ts';
import { SetupError } from '../../setup-error.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand } from './command.ts';
import { replayCommand } from './worker-replay.ts';
import { facts } from './text.ts';

/** A worker polls its queues within a second or so after it has started. */
const WAIT_FOR_WORKERS_MS = 10_000;

const promoteCommand = defineCommand({
  name: 'worker promote',
  summary: 'Make a version of the workers current: from now on it gets the tasks of all orders',
  notes: `The version is that of the settings TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID. It must have a
worker on every task queue. Workers of the version before can be stopped once it is current. To go back,
promote the version before: it must still have workers, or get them again.`,
  options: { build: { value: 'ID', help: 'Another build id than that of the settings' } },
  async run({ config, temporal }, { build }) {
    const { workerVersion } = config;
    if (!workerVersion) {
      throw new SetupError('TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID are not set');
    }
    const version = { ...workerVersion, ...(build !== undefined && { buildId: build }) };
    const { makeVersionCurrent } = await import('../../temporal/worker-versions.ts');
    const options = { taskQueues: TASK_QUEUES, waitMs: WAIT_FOR_WORKERS_MS };
    const result = await makeVersionCurrent(await temporal(), version, options);
    if ('unserved' in result) {
      const queues = result.unserved.join(', ');
      throw new SetupError(
        `No worker of build ${version.buildId} serves ${queues}: start one first`,
      );
    }
    const data = { ...version, ...result };
    const text = facts({
      Deployment: version.deploymentName,
      'Current build': version.buildId,
      'Build before': result.previousBuildId,
    });
    return { data, text };
  },
});

/** The workers' code: what it does with live orders, and which version gets their tasks. */
export const WORKER_COMMANDS: readonly AdminCommand[] = [promoteCommand, replayCommand];
