import { registerMerchant } from '../dev/load/merchant.ts';
import { ORDER } from './fixtures.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { alternate, ratePerSecond, ratioOf } from './harness/rounds.ts';
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

/** POST /orders against a bare start of the same workflow on the same server. */
export const benchmark: Benchmark = {
  description:
    'POST /orders against a bare `client.workflow.start` of the same workflow whose row exists, 32 at a time, of 8 merchants.',
  run: ({ quick }) =>
    withService({ settings: { PAYMENT_LINK_SECONDS: '3600' } }, async (service) => {
      const count = ORDERS_PER_ROUND[quick ? 'quick' : 'full'];
      const clients = await createClients(service);
      const post = async (index: number) => clients[index % MERCHANTS]?.('/orders', ORDER);
      const rates = await alternate({
        async 'POST /orders'() {
          const rate = await ratePerSecond({ count, concurrency: CONCURRENCY }, post);
          await waitUntilStarted(service);
          return rate;
        },
        async 'bare start'() {
          const rows = await writeOrders(service, count);
          const seconds = await startWorkflows(service, rows);
          await waitUntilStarted(service);
          return count / seconds;
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
