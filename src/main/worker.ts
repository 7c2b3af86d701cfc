import type { WorkerOptions } from '@temporalio/worker';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { loadConfig, required, type Config } from '../config.ts';
import { MONEY_TASK_QUEUE, TASK_QUEUE } from '../contracts/ids.ts';
import { connectDatabase } from '../db/client.ts';
import { SetupError } from '../setup-error.ts';
import { usesTls, type TemporalServer } from '../temporal/client.ts';
import { MAX_UNANSWERED_SENDS } from '../webhooks/sending/sender.ts';
import { composeActivities } from './compose/compose.ts';
import { startMetrics } from './process/metrics.ts';
import { runMain } from './process/process.ts';
import { storableFailures } from './worker/storable-failures.ts';
import { chooseSdkMetrics } from './process/sdk-metrics.ts';
import { openTemporal } from './process/temporal.ts';
import { activityFields, logTemporalTo } from './process/temporal-logger.ts';
import { startTracing } from './process/tracing.ts';
import { createWorkerHealth } from './worker/worker-health.ts';
import { loadWorkflows } from './worker/workflow-bundle.ts';

/** Longer than a webhook's 15 s, so that a running attempt is recorded before the worker stops. */
const SHUTDOWN_GRACE_MS = 20_000;

/**
 * How long a task waits for the worker that has its order cached; then any worker takes it. A client
 * waits 4.5 s for its command, and a worker may have been killed.
 */
const STICKY_TIMEOUT_MS = 2000;

/**
 * Half of the ten polls for workflow tasks are for orders that the worker has cached. The others are for new
 * orders, and those of killed workers. By default these are two: after an outage new orders then waited for
 * their first task while the others were served (docs/adr/0009).
 */
const NEW_ORDERS_SHARE_OF_POLLS = 0.5;

/**
 * Order workflows and webhooks. An endpoint that does not respond occupies a slot for 15 s, so
 * there are slots for all webhooks that can be in flight or queued, and 200 for the other
 * activities.
 */
const ORDERS = {
  taskQueue: TASK_QUEUE,
  stickyQueueScheduleToStartTimeout: STICKY_TIMEOUT_MS,
  nonStickyToStickyPollRatio: NEW_ORDERS_SHARE_OF_POLLS,
  maxConcurrentActivityTaskExecutions: MAX_UNANSWERED_SENDS + 200,
} as const;

/** A gateway that does not respond occupies a slot for up to 85 s: eight calls of 10 s each, and 5 s for its lists. */
const MONEY = {
  taskQueue: MONEY_TASK_QUEUE,
  maxConcurrentActivityTaskExecutions: 500,
} as const;

/** The workflows of Schedules, in a separate namespace: three short ones a minute. */
const HOUSEKEEPING = {
  taskQueue: TASK_QUEUE,
  ...cacheOf(10),
  maxConcurrentActivityTaskExecutions: 10,
} as const;

/**
 * A worker's cache of workflows, and the tasks of workflows that it works on at the same time. The SDK holds a
 * task for which its cache has no room, until Temporal's limit of 10 s has passed: docs/adr/0009.
 */
function cacheOf(maxCachedWorkflows: number) {
  return {
    maxCachedWorkflows,
    maxConcurrentWorkflowTaskExecutions: Math.min(40, Math.floor(maxCachedWorkflows / 3)),
  };
}

/** The workers of this process: one for each namespace and task queue that it polls. */
function declareWorkers(config: Config) {
  const { temporalNamespace: namespace, temporalHousekeepingNamespace } = config;
  const version = versioningOf(config);
  const { workerMaxCachedWorkflows: maxCachedWorkflows } = config;
  const cache = maxCachedWorkflows === undefined ? {} : cacheOf(maxCachedWorkflows);
  const declared = [
    { namespace, ...ORDERS, ...version, ...cache },
    { namespace, ...MONEY, ...version },
    // If both namespaces are the same, the first worker serves it. Housekeeping has no version:
    // its workflows end within minutes, and any worker may run them.
    ...(temporalHousekeepingNamespace === namespace
      ? []
      : [{ namespace: temporalHousekeepingNamespace, ...HOUSEKEEPING }]),
  ];
  return declared.filter(({ taskQueue }) => config.workerTaskQueues.includes(taskQueue));
}

/** With AUTO_UPGRADE a running order moves to the current version at its next workflow task. */
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

await runMain(
  {
    name: 'worker',
    does: 'Runs the workflows of orders and their activities.',
    load: loadConfig,
    logFields: activityFields,
  },
  async (config, log) => {
    const databaseUrl = required(config, 'DATABASE_URL');
    const tracing = await startTracing(config, 'worker', log);
    const { server, client: temporal } = await openTemporal(config, log, tracing.client);
    const sdkMetrics = config.metricsPort === undefined ? undefined : await chooseSdkMetrics();
    const logger = logTemporalTo(log, sdkMetrics?.exporter);
    const sql = connectDatabase(databaseUrl, { name: 'worker', maxConnections: 20 });
    const { deps, close } = await composeActivities({ config, sql, temporal, log });
    const health = createWorkerHealth({ sql, temporal });
    const metrics = await startMetrics(config, {
      name: 'worker',
      ...health,
      databaseUrl,
      temporal,
      sdkMetricsAddress: sdkMetrics?.address,
      log,
    });
    const declared = declareWorkers(config);
    const runsWorkflows = declared.some(({ taskQueue }) => taskQueue === TASK_QUEUE);
    const shared = {
      connection: await connect(server),
      activities: createActivities({ ...deps, sendsWebhooks: runsWorkflows }),
      shutdownGraceTime: SHUTDOWN_GRACE_MS,
      ...tracing.worker,
      interceptors: {
        activity: [...(tracing.worker.interceptors?.activity ?? []), storableFailures],
      },
    };
    const workflows = runsWorkflows
      ? { workflowBundle: await loadWorkflows(config, logger, { isTraced: tracing.isOn }) }
      : {};
    const workers = await Promise.all(
      declared.map((placement) =>
        Worker.create({
          ...shared,
          ...(placement.taskQueue === TASK_QUEUE && workflows),
          ...placement,
        }),
      ),
    );
    health.watch(workers);
    // The SDK's runtime handles SIGINT and SIGTERM: run() resolves when the running tasks have ended.
    const running = Promise.all(workers.map((worker) => worker.run()));
    const { workerTaskQueues: taskQueues, workerVersion } = config;
    const ordersWorker = workers.find(({ options }) => options.taskQueue === TASK_QUEUE);
    const maxCachedWorkflows = ordersWorker?.options.maxCachedWorkflows;
    log.info({ taskQueues, ...workerVersion, maxCachedWorkflows }, 'The worker polls for tasks');
    process.send?.('ready');
    await running;
    await close();
    await metrics.stop();
    await tracing.stop();
    await sql.end({ timeout: 1 });
  },
);

async function connect(server: TemporalServer): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect(server);
  } catch (cause) {
    throw new SetupError(connectFault(server, cause as Error), { cause });
  }
}

function connectFault(server: TemporalServer, { message }: Error): string {
  const { address, apiKey } = server;
  // The SDK gives gRPC's UNAUTHENTICATED and PERMISSION_DENIED in these words.
  if (apiKey !== undefined && /valid authentication credentials|permission/i.test(message)) {
    return `Temporal at ${address} refuses the API key (TEMPORAL_API_KEY)`;
  }
  // What the SDK says when a server that requires TLS ends a plain connection, earlier or later.
  const isEnded = /transport error|connection closed/.test(message);
  if (!usesTls(server) && isEnded && message.includes('GetSystemInfo')) {
    return `Temporal at ${address} ends the connection: set TEMPORAL_TLS if it requires TLS`;
  }
  return `Temporal cannot be reached at ${address} (TEMPORAL_ADDRESS)`;
}
