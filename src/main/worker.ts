import type { WorkerOptions } from '@temporalio/worker';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { required, type Config } from '../config.ts';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../contracts/ids.ts';
import { connectDatabase } from '../db/client.ts';
import { connectTemporal } from '../temporal/client.ts';
import { SetupError } from '../setup-error.ts';
import { MAX_UNANSWERED_SENDS } from '../webhooks/sender.ts';
import { composeActivities } from './compose.ts';
import { startMetrics } from './metrics.ts';
import { runMain } from './process.ts';
import { activityFields, logTemporalTo } from './temporal-logger.ts';
import { bundleWorkflows } from './workflow-bundle.ts';

/** Longer than a webhook's 15 s, so that an attempt under way is logged before the worker ends. */
const SHUTDOWN_GRACE_MS = 20_000;

/**
 * The orders themselves, and their webhooks beside them. A dead endpoint holds a webhook's slot for
 * 15 s: there are slots for as many webhooks as can be under way or wait for their place, and more
 * for those that read or record one.
 */
const ORDERS = {
  taskQueue: TASK_QUEUE,
  maxConcurrentActivityTaskExecutions: MAX_UNANSWERED_SENDS + 200,
} as const;

/** A gateway that hangs holds a slot for up to 50 s: five calls of 10 s each. */
const MONEY = {
  taskQueue: MONEY_TASK_QUEUE,
  maxConcurrentActivityTaskExecutions: 500,
} as const;

/** What Schedules start, in a namespace of its own: three short workflows a minute. */
const HOUSEKEEPING = {
  taskQueue: TASK_QUEUE,
  maxCachedWorkflows: 10,
  maxConcurrentWorkflowTaskExecutions: 5,
  maxConcurrentActivityTaskExecutions: 10,
} as const;

/** The workers of this process: one for each place that it takes tasks from. */
function declareWorkers(config: Config) {
  const { temporalNamespace: namespace, temporalHousekeepingNamespace } = config;
  const version = versioningOf(config);
  const declared = [
    { namespace, ...ORDERS, ...version },
    { namespace, ...MONEY, ...version },
    // One namespace may be all that there is: then the first worker does both. Without a version:
    // what runs here ends within minutes, and any worker may do it.
    ...(temporalHousekeepingNamespace === namespace
      ? []
      : [{ namespace: temporalHousekeepingNamespace, ...HOUSEKEEPING }]),
  ];
  return declared.filter(({ taskQueue }) => config.workerTaskQueues.includes(taskQueue));
}

/** An order that is under way goes on with the version that is current, at its next task. */
function versioningOf({ workerVersion }: Config): Pick<WorkerOptions, 'workerDeploymentOptions'> {
  if (!workerVersion) return {};
  return {
    workerDeploymentOptions: {
      version: workerVersion,
      useWorkerVersioning: true,
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  };
}

await runMain({ name: 'worker', logFields: activityFields }, async (config, log) => {
  const databaseUrl = required(config, 'DATABASE_URL');
  const address = required(config, 'TEMPORAL_ADDRESS');
  const { temporalNamespace: namespace } = config;
  const logger = logTemporalTo(log);
  const sql = connectDatabase(databaseUrl, { name: 'worker', maxConnections: 20 });
  const temporal = connectTemporal({ address, namespace });
  const { deps, close } = composeActivities({ config, sql, temporal, log });
  const metrics = await startMetrics(config, databaseUrl, log);
  const declared = declareWorkers(config);
  const runsWorkflows = declared.some(({ taskQueue }) => taskQueue === TASK_QUEUE);
  const shared = {
    connection: await connect(address),
    activities: createActivities({ ...deps, sendsWebhooks: runsWorkflows }),
    shutdownGraceTime: SHUTDOWN_GRACE_MS,
  };
  const workflows = runsWorkflows ? { workflowBundle: await bundleWorkflows(logger) } : {};
  const workers = await Promise.all(
    declared.map((placement) =>
      Worker.create({
        ...shared,
        ...(placement.taskQueue === TASK_QUEUE && workflows),
        ...placement,
      }),
    ),
  );
  // The runtime takes SIGINT and SIGTERM for itself: run() ends when the work under way has ended.
  const running = Promise.all(workers.map((worker) => worker.run()));
  const { workerTaskQueues: taskQueues, workerVersion } = config;
  log.info({ taskQueues, ...workerVersion }, 'The worker takes tasks');
  process.send?.('ready');
  await running;
  await close();
  await metrics.stop();
  await sql.end({ timeout: 1 });
  process.exit(0);
});

async function connect(address: string): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ address });
  } catch (cause) {
    throw new SetupError(`Temporal cannot be reached at ${address} (TEMPORAL_ADDRESS)`, { cause });
  }
}
