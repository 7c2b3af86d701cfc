import { join } from 'node:path';
import type { MemberName, ProductionLike } from '../dev/production-like/start.ts';
import { startProductionLike } from '../dev/production-like/start.ts';
import { connectDatabase } from '../src/db/client.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { cpuMsOf } from './harness/cpu-time.ts';
import { createLifecycleClient } from './lifecycle/order-lifecycle.ts';
import type { Receiver } from './lifecycle/receiver.ts';
import { startReceiver } from './lifecycle/receiver.ts';
import { lifecycleFailures, lifecycleMeasurements } from './lifecycle/report.ts';
import { measureSides } from './lifecycle/round.ts';
import { saveWebhookUrl, waitUntilIdle } from './lifecycle/side.ts';
import { CONCURRENCY } from './orders.ts';
import type { ProcessKind } from './service-on-postgres.ts';
import { withWorkplace } from './servers.ts';

const LIFECYCLES = { full: 224, quick: 128 };
const REPOSITORY = join(import.meta.dirname, '..');

/** The shape of production with two APIs and two workers, against one of each. */
export const benchmark: Benchmark = {
  description:
    'Whole lifecycles of orders in the shape of production (npm run start:production-like): two APIs behind a balancer and two workers, against one of each. Every process shares the processors of this machine, so the ratio says what a second process costs or gains here, not what a second machine gains.',
  run: ({ quick }) =>
    withWorkplace(async ({ folder }) => {
      const receiver = await startReceiver();
      const running: ProductionLike[] = [];
      try {
        for (const processes of [2, 1]) {
          running.push(await start(join(folder, String(processes)), processes, receiver));
        }
        const sides = running.map((service, index) => ({
          name: index === 0 ? 'two of each' : 'one of each',
          side: sideOf(service, receiver),
        }));
        const measured = await measureSides(sides, {
          rounds: quick ? 2 : 5,
          warmUp: { count: 3 * CONCURRENCY, concurrency: CONCURRENCY },
          batch: { count: LIFECYCLES[quick ? 'quick' : 'full'], concurrency: CONCURRENCY },
        });
        return {
          measurements: [...lifecycleMeasurements(measured), await gatewayCalls(running)],
          ...lifecycleFailures(measured),
        };
      } finally {
        await Promise.all(running.map((service) => service.stop()));
        receiver.stop();
      }
    }),
};

/** The calls of the adapter to the gateway for each order, by the metrics of all APIs and workers. */
async function gatewayCalls(services: readonly ProductionLike[]): Promise<Measurement> {
  const rounds: number[] = [];
  for (const { metricsUrls, databaseUrl } of services) {
    const texts = await Promise.all(
      Object.values(metricsUrls).map(async (url) => (await fetch(url)).text()),
    );
    const calls = texts
      .flatMap((text) => [
        ...text.matchAll(/^payment_order_service_gateway_calls_total\{.*\} (\d+)$/gm),
      ])
      .reduce((sum, [, count]) => sum + Number(count), 0);
    const sql = connectDatabase(databaseUrl, { name: 'bench', maxConnections: 1 });
    const [row] = await sql<[{ orders: number }]>`SELECT count(*)::float8 AS orders FROM orders`;
    await sql.end();
    rounds.push(calls / row.orders);
  }
  return { id: 'gateway-calls', title: 'calls to the gateway', unit: 'for each order', rounds };
}

async function start(dataDir: string, processes: number, receiver: Receiver) {
  const settings = { RATE_LIMIT_PER_SECOND: '1000000' };
  const service = await startProductionLike({
    dataDir,
    settings,
    apis: processes,
    workers: processes,
  });
  const { merchantId } = service.facts.demoMerchant;
  await saveWebhookUrl(REPOSITORY, dataDir, merchantId, receiver.url);
  return service;
}

/** The kinds of the members whose CPU time is measured. */
const KINDS: Partial<Record<string, ProcessKind>> = {
  api: 'API',
  worker: 'worker',
  temporal: 'Temporal',
  postgres: 'PostgreSQL',
  'gateway-simulator': 'gateway simulator',
};

const kindOf = (name: MemberName) => KINDS[name.replace(/-\d+$/, '')];

function sideOf({ members, apiBaseUrl, facts }: ProductionLike, receiver: Receiver) {
  const merchant = {
    url: `${apiBaseUrl}${facts.sandboxBasePath}`,
    ...facts.demoMerchant.sandbox,
  };
  const cpuMs = () => {
    const times = { API: 0, worker: 0, Temporal: 0, PostgreSQL: 0, 'gateway simulator': 0 };
    const pids = members.flatMap(({ name, pid }) => (pid === undefined ? [] : [[name, pid]]));
    const byMember = cpuMsOf(Object.fromEntries(pids) as Record<MemberName, number>);
    for (const [name, ms] of Object.entries(byMember)) {
      const kind = kindOf(name as MemberName);
      if (kind) times[kind] += ms;
    }
    return times;
  };
  return {
    ...createLifecycleClient(merchant, receiver, CONCURRENCY),
    cpuMs,
    waitUntilIdle: () => waitUntilIdle(cpuMs),
  };
}
