import { Agent, request } from 'undici';
import { cpuMsOf } from './harness/cpu-time.ts';
import { startBareServer } from './get/start-bare-server.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { alternate, ratioOf } from './harness/rounds.ts';
import { ratePerSecond } from './load.ts';
import { CONCURRENCY, writeOrders } from './orders.ts';
import type { BenchService } from './servers.ts';
import { withService, withWorkplace } from './servers.ts';

const READS = { full: 10_000, quick: 3000 };
const ORDERS = { full: 10_000, quick: 500 };
const TARGET_RATIO = 0.7;

/** GET /orders/{id} against the smallest server that reads the same rows. */
export const benchmark: Benchmark = {
  description:
    'GET /orders/{id} against the smallest server of Koa, its router and postgres.js that responds with the same bytes, 32 at a time.',
  run: ({ quick }) =>
    withService({}, (service) =>
      withWorkplace(async (place) => {
        const size = quick ? 'quick' : 'full';
        const orders = await writeRows(service, ORDERS[size]);
        const bare = await startBareServer(service, place);
        const dispatcher = new Agent({ connections: CONCURRENCY });
        const { apiKey, apiSecret } = service.keys;
        const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret };
        const read = async (base: string, index: number) => {
          const order = orders[index % orders.length] ?? '';
          const response = await request(`${base}/orders/${order}`, { dispatcher, headers });
          const text = await response.body.text();
          if (response.statusCode !== 200)
            throw new Error(`${base}: ${response.statusCode} ${text}`);
          return text;
        };
        assertSameBytes(await read(service.sandboxUrl, 0), await read(bare.url, 0));
        const batch = { count: READS[size], concurrency: CONCURRENCY };
        const pids = { ...service.pids, bare: bare.pid };
        const cpu = { API: [] as number[], bare: [] as number[], PostgreSQL: [] as number[] };
        const sideOf = (side: 'API' | 'bare', base: string) => async () => {
          const before = cpuMsOf(pids);
          const rate = await ratePerSecond(batch, (index) => read(base, index));
          const after = cpuMsOf(pids);
          const used = (kind: keyof typeof pids) => (after[kind] - before[kind]) / batch.count;
          cpu[side].push(used(side));
          if (side === 'API') cpu.PostgreSQL.push(used('PostgreSQL'));
          return rate;
        };
        const rates = await alternate({
          API: sideOf('API', service.sandboxUrl),
          bare: sideOf('bare', bare.url),
        });
        // The first value of each is the warm-up's.
        const cpuOf = (id: string, title: string, [, ...rounds]: number[]) => ({
          id,
          title,
          unit: 'CPU ms for each GET',
          rounds,
        });
        await bare.stop();
        return {
          measurements: [
            { id: 'api', title: 'GET /orders/{id}', unit: 'per second', rounds: rates.API },
            {
              id: 'bare',
              title: 'Koa and postgres.js alone',
              unit: 'per second',
              rounds: rates.bare,
            },
            cpuOf('cpu-api', 'the process of the API', cpu.API),
            cpuOf('cpu-bare', 'the process of Koa and postgres.js', cpu.bare),
            cpuOf('cpu-postgres', 'PostgreSQL, for the API', cpu.PostgreSQL),
            ratioOf(
              { id: 'ratio', title: 'GET against Koa and postgres.js' },
              rates.API,
              rates.bare,
            ),
          ],
          targets: [{ of: 'ratio', atLeast: TARGET_RATIO }],
          notes: [
            'The bare server leaves out authentication, limits of rate and time, validation, request ids, the log line and the security headers.',
          ],
        };
      }),
    ),
};

/** Writes rows of orders without workflows. @returns their numbers */
async function writeRows(service: BenchService, count: number): Promise<string[]> {
  const orders = await writeOrders(service, count);
  // The sweep would start their workflows while the rounds are measured.
  await service.sql`DELETE FROM order_wakeups`;
  await service.ownerSql`ANALYZE orders`;
  return orders.map(({ orderNumber }) => orderNumber);
}

/** @throws Error if the two bodies differ in more than the time of the response */
function assertSameBytes(one: string, other: string): void {
  const withoutTime = (text: string) => text.replace(/"timestamp":"[^"]+"/, '');
  if (withoutTime(one) !== withoutTime(other))
    throw new Error(`Different bytes:\n${one}\n${other}`);
}
