import { setTimeout as delay } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { orderInputOf } from '../src/orders/wake/wake-order.ts';
import type { OrderRow } from '../src/orders/rows.ts';
import { ORDER } from './fixtures.ts';
import { startBareServer } from './get/start-bare-server.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { percentile } from './harness/statistics.ts';
import { timed } from './load.ts';
import { waitUntilStarted, writeOrders } from './orders.ts';
import type { BenchService } from './servers.ts';
import { withService, withWorkplace } from './servers.ts';

/** Calls at the same time. */
const LEVELS = [1, 8, 32, 128];
const PERCENTILES = [50, 95, 99];
const CALLS = { full: 1000, quick: 256 };
/** One call after the other takes longer: fewer of them. */
const CALLS_ONE_BY_ONE = { full: 200, quick: 50 };
const FIRST_MS = 10_000;
/** Between two series, for what the calls have left to do. */
const PAUSE_MS = 2000;

/** A call; throws unless the response is as expected. */
type Call = (index: number) => Promise<unknown>;

/** Latencies of the API at several concurrencies, beside those of what it is built on. */
export const benchmark: Benchmark = {
  description:
    'POST /orders, GET /orders/{id}, GET /orders and POST /orders/{id}/deliver with 1, 8, 32 and 128 calls at a time, beside GET of the smallest server of Koa and postgres.js, and a bare `client.workflow.start`. Each client sends its next request when it has its response. First, 128 clients create orders in the first ten seconds after a start.',
  run: ({ quick }) =>
    withService({}, (service) =>
      withWorkplace(async (place) => {
        const size = quick ? 'quick' : 'full';
        const api = createApi(service);
        const first = await callFor(FIRST_MS, Math.max(...LEVELS), api.create);
        await waitUntilStarted(service);
        const bare = await startBareServer(service, place);
        const measurements: Measurement[] = [];
        const failures = [...first.failures];
        for (const level of LEVELS) {
          const count = level === 1 ? CALLS_ONE_BY_ONE[size] : CALLS[size];
          const numbers = await payableOrders(service, api, count, failures);
          const rows = await writeOrders(service, count);
          const numberAt = (index: number) => numbers[index] ?? '';
          const series: Record<string, Call> = {
            create: api.create,
            get: (index) => api.get(numberAt(index)),
            list: api.list,
            deliver: (index) => api.deliver(numberAt(index)),
            'Koa alone': (index) => api.getAt(`${bare.url}/orders/${numberAt(index)}`),
            'workflow start': (index) =>
              service.workflows.start(orderInputOf(rows[index] as OrderRow)),
          };
          for (const [name, call] of Object.entries(series)) {
            const result = await measure({ count, concurrency: level }, call);
            measurements.push(...measurementsOf(name, level, result));
            failures.push(...result.failures.map((text) => `${name}, ${level} at a time: ${text}`));
            await waitUntilStarted(service);
            await delay(PAUSE_MS);
          }
        }
        await bare.stop();
        return {
          measurements: [
            ...measurementsOf('create, first ten seconds', Math.max(...LEVELS), first),
            ...measurements,
            { id: 'failed', title: 'calls that failed', unit: 'calls', rounds: [failures.length] },
          ],
          targets: [{ of: 'failed', atMost: 0 }],
          failures: [...new Set(failures)].slice(0, 20),
        };
      }),
    ),
};

function createApi({ sandboxUrl, keys }: BenchService) {
  const dispatcher = new Agent({ connections: Math.max(...LEVELS) });
  const headers = {
    'content-type': 'application/json',
    'x-api-key': keys.apiKey,
    'x-api-secret': keys.apiSecret,
  };
  const send = async (method: 'GET' | 'POST', url: string, body?: object) => {
    const options = { method, dispatcher, headers, body: body ? JSON.stringify(body) : null };
    const response = await request(url, options);
    const text = await response.body.text();
    const { statusCode } = response;
    if (statusCode < 200 || statusCode > 299) throw new Error(`${statusCode} ${text}`);
    return JSON.parse(text) as { data: { order_number: string } };
  };
  const orders = `${sandboxUrl}/orders`;
  return {
    create: () => send('POST', orders, ORDER),
    get: (number: string) => send('GET', `${orders}/${number}`),
    getAt: (url: string) => send('GET', url),
    list: () => send('GET', orders),
    pay: (number: string) => send('POST', `${sandboxUrl}/test-helpers/orders/${number}/pay`, {}),
    deliver: (number: string) => send('POST', `${orders}/${number}/deliver`, {}),
  };
}

/** Orders that are PAID. @returns their numbers */
async function payableOrders(
  service: BenchService,
  api: ReturnType<typeof createApi>,
  count: number,
  failures: string[],
): Promise<string[]> {
  const numbers: string[] = [];
  await timed({ count, concurrency: 16 }, async () => {
    const { data } = await api.create();
    await api
      .pay(data.order_number)
      .catch((error: unknown) => failures.push(`pay: ${String(error)}`));
    numbers.push(data.order_number);
  });
  await waitUntilStarted(service);
  return numbers;
}

interface Series {
  readonly ms: number[];
  readonly seconds: number;
  readonly failures: string[];
}

/** A call that notes its duration, and why it failed. */
function observed(call: Call) {
  const ms: number[] = [];
  const failures: string[] = [];
  const observe = async (index: number) => {
    const startedAt = performance.now();
    await call(index).catch((error: unknown) => failures.push(String(error)));
    ms.push(performance.now() - startedAt);
  };
  return { ms, failures, observe };
}

async function measure(batch: { count: number; concurrency: number }, call: Call): Promise<Series> {
  const { ms, failures, observe } = observed(call);
  const seconds = await timed(batch, observe);
  return { ms, seconds, failures };
}

/** Calls for a time, with this concurrency. */
async function callFor(forMs: number, concurrency: number, call: Call): Promise<Series> {
  const { ms, failures, observe } = observed(call);
  const startedAt = performance.now();
  const client = async () => {
    while (performance.now() - startedAt < forMs) await observe(ms.length);
  };
  await Promise.all(Array.from({ length: concurrency }, client));
  return { ms, seconds: forMs / 1000, failures };
}

function measurementsOf(name: string, level: number, { ms, seconds }: Series): Measurement[] {
  const id = `${name}-${level}`;
  const title = `${name}, ${level} at a time`;
  return [
    ...PERCENTILES.map((share) => ({
      id: `${id}-p${share}`,
      title: `${title}, ${share} of 100 within`,
      unit: 'ms',
      rounds: [percentile(ms, share / 100)],
    })),
    { id, title, unit: 'per second', rounds: [ms.length / seconds] },
  ];
}
