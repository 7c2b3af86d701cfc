/**
 * A worker that kills itself right after it has recorded a step of the kind named on its command line:
 * the database has the step, and Temporal does not. Run by `startWorkerThatDiesAfter`.
 */
import { DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { pino } from 'pino';
import { createActivities } from '../../activities/index.ts';
import { loadConfig } from '../../src/config.ts';
import type { RecordStepInput } from '../../src/contracts/activities.ts';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../../src/contracts/ids.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { composeActivities } from '../../src/main/compose/compose.ts';
import { loadWorkflows } from '../../src/main/worker/workflow-bundle.ts';
import { connectTemporal } from '../../src/temporal/client.ts';

const [, , bundlePath = '', lastKind = ''] = process.argv;
const config = loadConfig();
const { databaseUrl = '', temporalAddress: address = '', temporalNamespace: namespace } = config;
const { deps } = await composeActivities({
  config,
  sql: connectDatabase(databaseUrl),
  temporal: connectTemporal({ address, namespace }),
  log: pino({ level: 'silent' }),
});
const activities = createActivities(deps);

const shared = {
  connection: await NativeConnection.connect({ address }),
  namespace,
  activities: {
    ...activities,
    async recordStep(input: RecordStepInput) {
      const result = await activities.recordStep(input);
      const kind = result.outcome === 'recorded' && result.recorded.step.kind;
      if (kind === lastKind) process.kill(process.pid, 'SIGKILL');
      return result;
    },
  },
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
