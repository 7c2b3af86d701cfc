import { TASK_QUEUES } from '../../contracts/ids.ts';
import { SetupError } from '../../setup-error.ts';
import type { AdminCommand } from './command.ts';
import { defineCommand } from './command.ts';
import { replayCommand } from './worker-replay.ts';
import { facts } from './text.ts';

/** A started worker polls its task queues within about a second. */
const WAIT_FOR_WORKERS_MS = 10_000;

const promoteCommand = defineCommand({
  name: 'worker promote',
  summary: 'Make a version of the workers current: it then gets the tasks of all orders',
  notes: `The version is that of TEMPORAL_DEPLOYMENT_NAME and TEMPORAL_WORKER_BUILD_ID. It must have a worker on every
task queue. Workers of the previous version can be stopped once it is current. To roll back, promote the previous
version, which needs running workers.`,
  options: { build: { value: 'ID', help: 'Instead of TEMPORAL_WORKER_BUILD_ID' } },
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

/** The commands for the versions of the workers. */
export const WORKER_COMMANDS: readonly AdminCommand[] = [promoteCommand, replayCommand];
