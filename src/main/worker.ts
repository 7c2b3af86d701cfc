import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { createActivities } from '../../activities/index.ts';
import { TASK_QUEUE } from '../contracts/ids.ts';
import { connectDatabase } from '../db/client.ts';
import { connectTemporal } from '../temporal/client.ts';
import { SetupError } from '../local/setup-error.ts';
import { composeActivities, required } from './compose.ts';
import { createLog, runMain } from './process.ts';

/** A dead webhook endpoint holds its slot for 15 s: there are more slots than the sender uses. */
const ACTIVITY_SLOTS = 1500;
/** Longer than a webhook's 15 s, so that an attempt under way is logged before the worker ends. */
const SHUTDOWN_GRACE_MS = 20_000;

await runMain(async (config) => {
  const databaseUrl = required(config.databaseUrl, 'DATABASE_URL', 'a postgres:// address');
  const address = required(config.temporalAddress, 'TEMPORAL_ADDRESS', 'host:port');
  const namespace = config.temporalNamespace;
  const log = createLog(config, 'worker');
  const sql = connectDatabase(databaseUrl, { name: 'worker', maxConnections: 20 });
  const temporal = connectTemporal({ address, namespace });
  const { deps, close } = composeActivities({ config, sql, temporal, log });
  const worker = await Worker.create({
    connection: await connect(address),
    namespace,
    taskQueue: TASK_QUEUE,
    workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
    activities: createActivities(deps),
    maxConcurrentActivityTaskExecutions: ACTIVITY_SLOTS,
    shutdownGraceTime: SHUTDOWN_GRACE_MS,
  });
  // The runtime takes SIGINT and SIGTERM for itself: run() ends when the work under way has ended.
  const running = worker.run();
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
