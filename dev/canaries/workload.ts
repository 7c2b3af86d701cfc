import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { askSimulator, simulatorAccessOf } from '../load/simulator.ts';
import { startMerchant } from '../load/merchant.ts';
import type { ProductionLike } from '../production-like/start.ts';
import type { KeyPair } from '../../src/merchants/credentials.ts';
import type { Canaries } from './canary.ts';
import { createCanaryClient } from './client.ts';
import { liveThrough } from './lifecycles.ts';
import { sendRefusedRequests, signUpAndApply, type VisitorDeps } from './visitors.ts';

/** What was done with canaries. */
export interface Workload {
  readonly orderNumbers: readonly string[];
  /** How many requests had each status; 0 is none. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly failures: readonly string[];
}

const AT_ONCE = 6;
const USERS = 3;
const VISITS = 4;
const ALL_DONE_AFTER_MS = 25_000;
const OUTAGE_AFTER_MS = 1500;

/** Orders of every kind, users and refused requests, also while gateway and database fail. */
export async function runWorkload(
  cluster: ProductionLike,
  {
    canaries,
    orders,
    dataDir,
    log,
  }: {
    canaries: Canaries;
    orders: number;
    dataDir: string;
    log: (line: string) => void;
  },
): Promise<Workload> {
  const client = createCanaryClient(cluster.apiBaseUrl, canaries);
  const { environment } = cluster.facts;
  const simulator = simulatorAccessOf(cluster.facts);
  const deps = { canaries, client, simulator, environment };
  const visitors = { canaries, client, environment, dataDir, origin: cluster.apiBaseUrl };
  const { merchants, stop } = await startMerchants(cluster, canaries);
  const orderNumbers: string[] = [];
  const run = (from: number, to: number) =>
    inParallel(from, to, async (index) => {
      const keys = merchants[index % merchants.length];
      const orderNumber = keys && (await liveThrough(deps, keys, index));
      if (orderNumber !== undefined) orderNumbers.push(orderNumber);
    });
  try {
    const [keys] = merchants;
    if (!keys) throw new Error('There are merchants');
    await run(0, Math.floor(orders / 2));
    log(`${orderNumbers.length} orders have lived; next: refused requests and users`);
    const users = await visit(visitors, keys);
    log('the gateway fails');
    await askSimulator(simulator, 'POST', '/simulator/faults', { kind: 'error', probability: 0.4 });
    await run(Math.floor(orders / 2), Math.floor((orders * 3) / 4));
    await askSimulator(simulator, 'DELETE', '/simulator/faults');
    log('the database refuses rows');
    await whileRowsAreRefused(cluster, () => run(orders, orders + AT_ONCE));
    log('the database is killed');
    await Promise.all([
      run(Math.floor((orders * 3) / 4), orders),
      delay(OUTAGE_AFTER_MS).then(() => cluster.member('postgres').signal('SIGKILL')),
    ]);
    await cluster.member('postgres').untilReady();
    await sendRefusedRequests(visitors, keys);
    await delay(ALL_DONE_AFTER_MS);
    const failures = users === USERS ? [] : [`${USERS - users} users could not apply`];
    return { orderNumbers, statuses: client.statuses, failures };
  } finally {
    stop();
  }
}

/** Merchants whose webhook URLs have secrets in path and query; the second one's endpoint refuses. */
async function startMerchants({ facts, apiBaseUrl }: ProductionLike, canaries: Canaries) {
  const service = { environment: facts.environment, apiBaseUrl };
  const behaviours = ['answers 200', 'always answers 500', 'sometimes hangs'] as const;
  const merchants = await Promise.all(
    behaviours.map((behaviour) => {
      const path = `/${canaries.word('path of a webhook URL')}?token=${canaries.word('query of a webhook URL')}`;
      return startMerchant(service, { actor: 'canaries', behaviour, path });
    }),
  );
  for (const { keys, webhookSecret } of merchants) {
    canaries.add('API secret', keys.apiSecret);
    canaries.add('webhook secret', webhookSecret);
  }
  return {
    merchants: merchants.map(({ keys }) => keys),
    stop: () => merchants.forEach(({ receiver }) => receiver.stop()),
  };
}

/** @returns how many users could apply */
async function visit(visitors: VisitorDeps, keys: KeyPair): Promise<number> {
  for (let count = 0; count < VISITS; count += 1) await sendRefusedRequests(visitors, keys);
  const applied = await Promise.all(Array.from({ length: USERS }, () => signUpAndApply(visitors)));
  return applied.filter(Boolean).length;
}

/** PostgreSQL describes a row that a constraint refuses with all of its values. */
async function whileRowsAreRefused(
  { adminDatabaseUrl, databaseUrl }: ProductionLike,
  work: () => Promise<void>,
): Promise<void> {
  const url = new URL(adminDatabaseUrl);
  url.pathname = new URL(databaseUrl).pathname;
  const sql = postgres(url.href, { max: 1, onnotice: () => {} });
  try {
    await sql`ALTER TABLE orders ADD CONSTRAINT refused_for_canaries CHECK (false) NOT VALID`;
    await work();
    await sql`ALTER TABLE orders DROP CONSTRAINT refused_for_canaries`;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function inParallel(from: number, to: number, work: (index: number) => Promise<void>) {
  let next = from;
  const take = async () => {
    while (next < to) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, take));
}
