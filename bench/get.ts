import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import type { Benchmark } from './harness/benchmark.ts';
import { cpuMsOf } from './harness/cpu-time.ts';
import { alternate, ratePerSecond, ratioOf } from './harness/rounds.ts';
import { CONCURRENCY, writeOrders } from './orders.ts';
import type { BenchService } from './servers.ts';
import { withService } from './servers.ts';

const READS = { full: 10_000, quick: 3000 };
const ORDERS = { full: 10_000, quick: 500 };
const TARGET_RATIO = 0.7;

/** GET /orders/{id} against the smallest server that reads the same rows. */
export const benchmark: Benchmark = {
  description:
    'GET /orders/{id} against the smallest server of Koa, its router and postgres.js that responds with the same bytes, 32 at a time.',
  run: ({ quick }) =>
    withService({}, async (service) => {
      const size = quick ? 'quick' : 'full';
      const orders = await writeRows(service, ORDERS[size]);
      const bare = await startBareServer(service);
      const dispatcher = new Agent({ connections: CONCURRENCY });
      const { apiKey, apiSecret } = service.keys;
      const headers = { 'x-api-key': apiKey, 'x-api-secret': apiSecret };
      const read = async (base: string, index: number) => {
        const order = orders[index % orders.length] ?? '';
        const response = await request(`${base}/orders/${order}`, { dispatcher, headers });
        const text = await response.body.text();
        if (response.statusCode !== 200) throw new Error(`${base}: ${response.statusCode} ${text}`);
        return text;
      };
      assertSameBytes(await read(service.sandboxUrl, 0), await read(bare.url, 0));
      const batch = { count: READS[size], concurrency: CONCURRENCY };
      const pids = { ...service.pids, bare: bare.pid };
      const cpu = { API: [] as number[], bare: [] as number[], PostgreSQL: [] as number[] };
      const sideOf = (side: 'API' | 'bare', base: string) => async (round: number) => {
        const before = cpuMsOf(pids);
        const rate = await ratePerSecond(batch, (index) => read(base, index));
        const after = cpuMsOf(pids);
        const used = (kind: keyof typeof pids) => (after[kind] - before[kind]) / batch.count;
        if (round > 0) cpu[side].push(used(side));
        if (round > 0 && side === 'API') cpu.PostgreSQL.push(used('PostgreSQL'));
        return rate;
      };
      const { API, bare: alone } = await alternate({
        API: sideOf('API', service.sandboxUrl),
        bare: sideOf('bare', bare.url),
      });
      bare.stop();
      const rate = 'per second';
      const time = 'CPU ms for each GET';
      return {
        measurements: [
          { id: 'api', title: 'GET /orders/{id}', unit: rate, rounds: API },
          { id: 'bare', title: 'Koa and postgres.js alone', unit: rate, rounds: alone },
          { id: 'cpu-api', title: 'the process of the API', unit: time, rounds: cpu.API },
          { id: 'cpu-bare', title: 'Koa and postgres.js alone', unit: time, rounds: cpu.bare },
          {
            id: 'cpu-postgres',
            title: 'PostgreSQL, for the API',
            unit: time,
            rounds: cpu.PostgreSQL,
          },
          ratioOf({ id: 'ratio', title: 'GET against Koa and postgres.js' }, API, alone),
        ],
        targets: [{ of: 'ratio', atLeast: TARGET_RATIO }],
        notes: [
          'The bare server leaves out authentication, limits of rate and time, validation, request ids, the log line and the security headers.',
        ],
      };
    }),
};

/** Starts the smallest server that reads orders; it ends with this process. */
async function startBareServer({ config, facts }: BenchService) {
  const server = fork(
    join(import.meta.dirname, 'bare-server.ts'),
    [config.databaseUrl ?? '', facts.environment['PUBLIC_BASE_URL'] ?? ''],
    { env: { PATH: process.env['PATH'], NODE_ENV: 'production' } },
  );
  const ended = once(server, 'exit').then(([code]) => {
    throw new Error(`The bare server ended with ${code}`);
  });
  const [port] = await Promise.race([once(server, 'message'), ended]);
  return { url: `http://127.0.0.1:${port}`, pid: server.pid ?? 0, stop: () => server.kill() };
}

/** Writes rows of orders without workflows. @returns their numbers */
async function writeRows(service: BenchService, count: number): Promise<string[]> {
  const orders = await writeOrders(service, count);
  // The sweep or the comparison would start their workflows while the rounds are measured.
  await service.sql`DELETE FROM order_wakeups`;
  await service.ownerSql`UPDATE orders SET status = 'CANCELLED'`;
  await service.ownerSql`ANALYZE orders`;
  return orders.map(({ orderNumber }) => orderNumber);
}

/** @throws Error if the two bodies differ in more than the time of the response */
function assertSameBytes(one: string, other: string): void {
  const withoutTime = (text: string) => text.replace(/"timestamp":"[^"]+"/, '');
  if (withoutTime(one) !== withoutTime(other))
    throw new Error(`Different bytes:\n${one}\n${other}`);
}
