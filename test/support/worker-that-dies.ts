/**
 * A worker that kills itself at the place named on its command line, {@link DyingPlace}. What it has done there,
 * Temporal does not know. Run by `startWorkerThatDies`.
 */
import { DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { loadConfig } from '../../src/config.ts';
import type { Activities } from '../../src/contracts/activities.ts';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { composeActivities } from '../../src/main/compose/compose.ts';
import { loadWorkflows } from '../../src/main/worker/workflow-bundle.ts';
import { connectTemporal } from '../../src/temporal/client.ts';
import type { DyingPlace } from './worker-process.ts';

const [, , bundlePath = '', place = ''] = process.argv;
const config = loadConfig();
const { databaseUrl = '', temporalAddress: address = '', temporalNamespace: namespace } = config;
const { deps } = await composeActivities({
  config,
  sql: connectDatabase(databaseUrl),
  temporal: connectTemporal({ address, namespace }),
  log: pino({ level: 'silent' }),
});
const activities = createActivities(deps);
const dieAt = (reached: DyingPlace | false) => {
  if (reached === place) process.kill(process.pid, 'SIGKILL');
};

const shared = {
  connection: await NativeConnection.connect({ address }),
  namespace,
  activities: {
    ...activities,
    async recordStep(input) {
      const result = await activities.recordStep(input);
      dieAt(result.outcome === 'recorded' && `after ${result.recorded.step.kind}`);
      return result;
    },
  } satisfies Activities,
};
const workflowBundle = await loadWorkflows(
  { workflowBundle: bundlePath },
  new DefaultLogger('ERROR'),
);
const workers = await Promise.all([
  Worker.create({ ...shared, taskQueue: TASK_QUEUE, workflowBundle }),
  Worker.create({ ...shared, taskQueue: MONEY_TASK_QUEUE }),
]);
const running = Promise.all(workers.map((worker) => worker.run()));
process.send?.('ready');
await running;
