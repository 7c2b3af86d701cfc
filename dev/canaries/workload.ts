import { setTimeout as delay } from 'node:timers/promises';
import { createRandom } from '../gateway-simulator/random.ts';
import type { Run, RunOptions } from '../faults/run.ts';
import { inParallel } from '../load/in-parallel.ts';
import { readOrder } from '../load/order.ts';
import { ordersOf, perform, planOrders, type PlannedOrder } from '../load/plan.ts';
import { askSimulator } from '../load/simulator.ts';
import { onDatabase, withConnection } from '../postgres/databases.ts';
import { marksOf, type Canaries } from './canary.ts';
import { sendRefusedRequests, signUpAndApply, visit, type VisitorDeps } from './visitors.ts';

const AT_ONCE = 6;
const USERS = 3;
const VISITS = 4;
const ALL_DONE_AFTER_MS = 25_000;
const OUTAGE_AFTER_MS = 1500;

/** Merchants whose webhook URLs have secrets in path and query. They send each request once. */
export const markedRun = (canaries: Canaries): RunOptions => ({
  outcome: 'open',
  marks: marksOf(canaries),
  merchants: (['answers 200', 'always answers 500', 'sometimes hangs'] as const).map(
    (behaviour) => ({
      behaviour,
      repeatedForMs: 0,
      path: `/${canaries.word('path of a webhook URL')}?token=${canaries.word('query of a webhook URL')}`,
    }),
  ),
});

/**
 * Orders of every kind, users and refused requests, also while gateway and database fail.
 *
 * @returns the numbers of the orders
 */
export async function runWorkload(
  visitor: VisitorDeps,
  count: number,
  log: (line: string) => void,
): Promise<string[]> {
  const { canaries, run } = visitor;
  const { cluster, merchants, deps } = run;
  for (const { keys, webhookSecret } of merchants) {
    canaries.add('API secret', keys.apiSecret);
    canaries.add('webhook secret', webhookSecret);
  }
  const size = { count: count + AT_ONCE, merchants: merchants.length, outcome: 'open' } as const;
  const orders = ordersOf(deps, merchants, planOrders(size, createRandom(1)));
  const live = (from: number, to: number) => liveThrough(visitor, orders.slice(from, to));
  const [half, most] = [Math.floor(count / 2), Math.floor((count * 3) / 4)];

  await live(0, half);
  log(`${half} orders have lived; next: refused requests and users`);
  for (let visits = 0; visits < VISITS; visits += 1) {
    await sendRefusedRequests(visitor);
  }
  await Promise.all(Array.from({ length: USERS }, () => signUpAndApply(visitor)));
  log('the gateway fails');
  const fault = { kind: 'error', probability: 0.4 };
  await askSimulator(deps.simulator, 'POST', '/simulator/faults', fault);
  await live(half, most);
  await askSimulator(deps.simulator, 'DELETE', '/simulator/faults');
  log('the database refuses rows');
  await whileRowsAreRefused(run, () => live(count, orders.length));
  log('the database is killed');
  await Promise.all([
    live(most, count),
    delay(OUTAGE_AFTER_MS).then(() => cluster.member('postgres').signal('SIGKILL')),
  ]);
  await cluster.member('postgres').untilReady();
  await sendRefusedRequests(visitor);
  await delay(ALL_DONE_AFTER_MS);
  return orders.map(({ orderNumber }) => orderNumber).filter((one) => one !== '');
}

/** Brings orders to the end of their plans, without the parts that get no answer. */
const liveThrough = (visitor: VisitorDeps, orders: readonly PlannedOrder[]) =>
  inParallel(orders, AT_ONCE, async (order) => {
    for (const part of order.plan.pauses.keys()) {
      await perform(order, part).catch(() => undefined);
      if (part === 0 && order.orderNumber !== '') await lookAt(visitor, order);
    }
  });

/** What the merchant and the buyer look at and type, with canaries. */
async function lookAt(visitor: VisitorDeps, order: PlannedOrder): Promise<void> {
  const { word, add } = visitor.canaries;
  const { keys } = order.merchant;
  const now = await readOrder(order).catch(() => undefined);
  if (!now) return;
  const token = new URL(now.payment_url).pathname.split('/').at(-1) ?? '';
  add('payment token', token);
  await visit(visitor, `/pay/${token}`);
  const form = { again: word('unknown form field') };
  await visit(visitor, `/pay/${token}/sessions`, { form });
  const reason = `It never came: ${word("buyer's dispute reason")}`;
  await visit(visitor, `/pay/${token}/dispute`, { form: { reason } });
  const path = `/orders/${now.order_number}`;
  await visit(visitor, `/orders?buyerEmail=${encodeURIComponent(now.buyer.email)}`, { keys });
  await visit(visitor, `/orders?buyerEmail=${word('query string')}`, { keys });
  await visit(visitor, `${path}/timeline?note=${word('query string')}`, { keys });
}

/** PostgreSQL describes a row that a constraint refuses with all of its values. */
async function whileRowsAreRefused({ cluster }: Run, work: () => Promise<void>): Promise<void> {
  const database = new URL(cluster.databaseUrl).pathname.slice(1);
  await withConnection(onDatabase(cluster.adminDatabaseUrl, database), async (sql) => {
    await sql`ALTER TABLE orders ADD CONSTRAINT refused_for_canaries CHECK (false) NOT VALID`;
    await work();
    await sql`ALTER TABLE orders DROP CONSTRAINT refused_for_canaries`;
  });
}
