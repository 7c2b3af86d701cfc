import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { TASK_QUEUE } from '../contracts/ids.ts';
import { connectDatabase } from '../db/client.ts';
import { connectTemporal } from '../temporal/client.ts';
import { SetupError } from '../local/setup-error.ts';
import { composeActivities, required } from './compose.ts';
import { runMain } from './process.ts';
import { activityFields, logTemporalTo } from './temporal-logger.ts';

/** A dead webhook endpoint holds its slot for 15 s: there are more slots than the sender uses. */
const ACTIVITY_SLOTS = 1500;
/** Longer than a webhook's 15 s, so that an attempt under way is logged before the worker ends. */
const SHUTDOWN_GRACE_MS = 20_000;

/** Three short workflows a minute need few places. */
const HOUSEKEEPING_SLOTS = {
  maxCachedWorkflows: 10,
  maxConcurrentWorkflowTaskExecutions: 5,
  maxConcurrentActivityTaskExecutions: 10,
} as const;

await runMain({ name: 'worker', logFields: activityFields }, async (config, log) => {
  const databaseUrl = required(config.databaseUrl, 'DATABASE_URL', 'a postgres:// address');
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS', 'host:port');
  const { temporalNamespace: namespace, temporalHousekeepingNamespace: housekeeping } = config;
  const logger = logTemporalTo(log);
  const sql = connectDatabase(databaseUrl, { name: 'worker', maxConnections: 20 });
  const temporal = connectTemporal({ address, namespace });
  const { deps, close } = composeActivities({ config, sql, temporal, log });
  const shared = {
    connection: await connect(address),
    taskQueue: TASK_QUEUE,
    workflowBundle: await bundleWorkflowCode({
      workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
      logger,
    }),
    activities: createActivities(deps),
    shutdownGraceTime: SHUTDOWN_GRACE_MS,
  };
  const placements = [
    { namespace, maxConcurrentActivityTaskExecutions: ACTIVITY_SLOTS },
    // One namespace may be all that there is: then one worker does both.
    ...(housekeeping === namespace ? [] : [{ namespace: housekeeping, ...HOUSEKEEPING_SLOTS }]),
  ];
  const workers = await Promise.all(
    placements.map((placement) => Worker.create({ ...shared, ...placement })),
  );
  // The runtime takes SIGINT and SIGTERM for itself: run() ends when the work under way has ended.
  const running = Promise.all(workers.map((worker) => worker.run()));
  log.info('The worker takes tasks');
  process.send?.('ready');
  await running;
  await close();
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
