import { TASK_QUEUES } from '../../contracts/ids.ts';
import type { OrderStatus } from '../../domain/index.ts';
import { ORDER_STATUSES } from '../../domain/index.ts';
import { sampleOrders } from '../../orders/wake/sample-orders.ts';
import { SetupError } from '../../setup-error.ts';
import type { AdminCommand } from './command.ts';
import { COUNT, defineCommand } from './command.ts';
import { blocks, table } from './text.ts';

/** A started worker polls its task queues within about a second. */
const WAIT_FOR_WORKERS_MS = 10_000;

const promoteCommand = defineCommand({
  name: 'worker promote',
  summary: 'Make a version of the workers current: it gets the tasks of all orders',
  notes: `The version is that of TEMPORAL_WORKER_BUILD_ID. It must have a worker on every task queue. Workers of the
previous version can be stopped once it is current. To roll back, promote the previous version, which needs
running workers.`,
  options: { build: { value: 'ID', help: 'Instead of TEMPORAL_WORKER_BUILD_ID' } },
  async run({ config, temporal }, { build }) {
    const { workerVersion } = config;
    if (!workerVersion) throw new SetupError('TEMPORAL_WORKER_BUILD_ID is not set');
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
    return { data: { ...version, ...result } };
  },
});

const replayCommand = defineCommand({
  name: 'worker replay',
  summary: "Replay live orders' histories with this checkout's workflows",
  notes: `Run it before a deploy: an order that fails here would be blocked with the new code until the code is fixed.
The sample has the newest orders of every status, and the oldest ones that are not final. It changes nothing.
RUNNING says whether the order's workflow still runs, also if the order is final: a closed one needs nothing.`,
  options: { count: { value: 'COUNT', help: 'The number of orders', as: COUNT, fallback: 200 } },
  async run(service, { count }) {
    const sample = await sampleOrders(service.sql, count);
    const { replayOrders } = await import('../replay.ts');
    const orderNumbers = sample.map(({ orderNumber }) => orderNumber);
    const client = await service.temporal();
    const { replayed, failures } = await replayOrders(client, orderNumbers, service.config);
    const gone = sample.length - replayed.length;
    const statusOf = new Map(sample.map(({ orderNumber, status }) => [orderNumber, status]));
    const statuses = replayed.map((orderNumber) => statusOf.get(orderNumber));
    const data = { replayed: replayed.length, statuses: countEach(statuses), gone, failures };
    const text = blocks(figuresOf(data), table(failures));
    return { data, text, failed: failures.length > 0 };
  },
});

function countEach(statuses: readonly (OrderStatus | undefined)[]) {
  const counts = ORDER_STATUSES.map(
    (status) => [status, statuses.filter((other) => other === status).length] as const,
  );
  return Object.fromEntries(counts.filter(([, count]) => count > 0));
}

function figuresOf(data: {
  replayed: number;
  statuses: Record<string, number>;
  gone: number;
  failures: readonly unknown[];
}): string {
  const statuses = Object.entries(data.statuses).map(([status, count]) => `${count} ${status}`);
  const of = statuses.length > 0 ? ` (${statuses.join(', ')})` : '';
  const gone = data.gone > 0 ? `; ${data.gone} of the sample have no history in Temporal` : '';
  return `${data.replayed} orders replayed${of}, ${data.failures.length} failed${gone}.`;
}

/** The commands for the versions of the workers. */
export const WORKER_COMMANDS: readonly AdminCommand[] = [promoteCommand, replayCommand];
