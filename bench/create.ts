import { registerMerchant } from '../dev/load/merchant.ts';
import { ORDER } from './fixtures.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { alternate, ratioOf, timed } from './harness/rounds.ts';
import {
  CONCURRENCY,
  createClient,
  startWorkflows,
  waitUntilStarted,
  writeOrders,
  type Post,
} from './orders.ts';
import { withService, type BenchService } from './servers.ts';

const ORDERS_PER_ROUND = { full: 1000, quick: 200 };
const TARGET_RATIO = 0.8;
/** One merchant has half of the turns, and would be told to wait. */
const MERCHANTS = 8;

/**
 * POST /orders against a bare start of the same workflow on the same server. Both end when the worker has begun every
 * workflow: bare starts take all the processor time first, and the worker begins their workflows afterwards.
 */
export const benchmark: Benchmark = {
  description:
    'POST /orders against a bare `client.workflow.start` of the same workflow whose row exists, 32 at a time, of 8 merchants, until the worker has begun all of them.',
  run: ({ quick }) =>
    withService({ settings: { PAYMENT_LINK_SECONDS: '3600' } }, async (service) => {
      const count = ORDERS_PER_ROUND[quick ? 'quick' : 'full'];
      const clients = await createClients(service);
      const post = async (index: number) => clients[index % MERCHANTS]?.('/orders', ORDER);
      const batch = { count, concurrency: CONCURRENCY };
      const untilBegun = async (work: () => Promise<unknown>) => {
        const startedAt = performance.now();
        await work();
        await waitUntilStarted(service);
        return (count * 1000) / (performance.now() - startedAt);
      };
      const rates = await alternate({
        'POST /orders': () => untilBegun(() => timed(batch, post)),
        async 'bare start'() {
          const rows = await writeOrders(service, count);
          return untilBegun(() => startWorkflows(service, rows));
        },
      });
      const [posts, starts] = [rates['POST /orders'], rates['bare start']];
      const ratio = { id: 'ratio', title: 'POST /orders against a bare start' };
      return {
        measurements: [
          { id: 'post', title: 'POST /orders', unit: 'per second', rounds: posts },
          { id: 'start', title: 'bare workflow start', unit: 'per second', rounds: starts },
          ratioOf(ratio, posts, starts),
        ],
        targets: [{ of: 'ratio', atLeast: TARGET_RATIO }],
      };
    }),
};

/** Registers the merchants. @returns their clients */
function createClients({ facts }: BenchService): Promise<Post[]> {
  const createOne = async () => {
    const merchant = { actor: 'bench' };
    const { keys } = await registerMerchant(facts.environment, 'sandbox', merchant);
    return createClient({ facts, keys });
  };
  return Promise.all(Array.from({ length: MERCHANTS }, createOne));
}
