import type { ReplayResult } from '@temporalio/worker';
import type { OrderStatus } from '../../domain/index.ts';
import { ORDER_STATUSES } from '../../domain/index.ts';
import type { SampledOrder } from '../../orders/wake/sample-orders.ts';
import { sampleOrders } from '../../orders/wake/sample-orders.ts';
import { countOf, defineCommand } from './command.ts';
import type { AdminService } from './service.ts';
import { blocks, table } from './text.ts';

/** `worker replay`: checks that this checkout's workflow code is compatible with running orders. */
export const replayCommand = defineCommand({
  name: 'worker replay',
  summary:
    "Replay a sample of live orders' histories with this checkout's workflows; exit 1 if one fails",
  notes: `Run it before a deploy: an order that fails here would be blocked with the new code until the code is fixed.
The sample has the newest orders of every status, and the oldest ones that are not final. It changes nothing.
RUNNING says whether the order's workflow still runs, also if the order is final: a closed one needs nothing.`,
  options: { count: { value: 'COUNT', help: 'The number of orders', fallback: '200' } },
  async run(service, { count }) {
    const sample = await sampleOrders(service.sql, countOf('count', count));
    const { replayed, gone } = await replayAll(service, sample);
    const failures = await failuresOf(service, replayed);
    const statusOf = new Map(sample.map(({ orderNumber, status }) => [orderNumber, status]));
    const statuses = replayed.map(({ workflowId }) => statusOf.get(workflowId));
    const data = { replayed: replayed.length, statuses: countEach(statuses), gone, failures };
    const list = failures.map(({ orderNumber, isRunning, error }) => [
      orderNumber,
      isRunning ? 'yes' : 'no',
      error,
    ]);
    const columns = ['ORDER', 'RUNNING', 'ERROR'];
    const text = blocks(figuresOf(data), list.length > 0 && table(columns, list));
    return { data, text, failed: failures.length > 0 };
  },
});

type Replayed = Pick<ReplayResult, 'workflowId' | 'error'>;

/**
 * Replays the sample.
 *
 * @returns the results, and the number of orders without a history in Temporal
 */
async function replayAll(
  service: AdminService,
  sample: readonly SampledOrder[],
): Promise<{ replayed: Replayed[]; gone: number }> {
  const { fetchHistories, replayHistories } = await import('../replay.ts');
  const orderNumbers = sample.map(({ orderNumber }) => orderNumber);
  const replayed: Replayed[] = [];
  const histories = fetchHistories(await service.temporal(), orderNumbers);
  const results = replayHistories(histories, service.config);
  for await (const result of results) replayed.push(result);
  return { replayed, gone: sample.length - replayed.length };
}

/** The orders that this code cannot continue, and whether their workflows still run. */
async function failuresOf(service: AdminService, replayed: readonly Replayed[]) {
  const client = await service.temporal();
  const failures: { orderNumber: string; isRunning: boolean; error: string }[] = [];
  for (const { workflowId: orderNumber, error } of replayed) {
    if (error === undefined) continue;
    const { status } = await client.workflow.getHandle(orderNumber).describe();
    const isRunning = status.name === 'RUNNING';
    failures.push({ orderNumber, isRunning, error: error.message.split('\n')[0] ?? '' });
  }
  return failures;
}

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
