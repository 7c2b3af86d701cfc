import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Benchmark, Curve } from './harness/benchmark.ts';
import { openOrders } from './orders.ts';
import type { BenchService } from './servers.ts';
import { withService, withWorkplace } from './servers.ts';

/** The open orders at which memory is read. The last is above what the cache may hold. */
const STEPS = {
  full: [0, 250, 500, 1000, 1500, 2000, 2395, 3000],
  quick: [0, 100, 200, 300],
};
const REPOSITORY = join(import.meta.dirname, '..');
const SDK_DEFAULT = 2395;
const READS = 5;
const READ_INTERVAL_MS = 1000;
const MB = 1e6;

/** The memory of a worker as it keeps more and more open orders. */
export const benchmark: Benchmark = {
  description:
    'The memory of a worker process as it keeps more and more open orders in its cache of workflows.',
  async run({ quick }) {
    const points: [number, number[]][] = [];
    const measureIn = async (service: BenchService) => {
      const { worker } = service.pids;
      let opened = 0;
      for (const step of STEPS[quick ? 'quick' : 'full']) {
        await openOrders(service, step - opened);
        opened = step;
        const reads: number[] = [];
        for (let read = 0; read < READS; read += 1) {
          await delay(READ_INTERVAL_MS);
          reads.push(residentBytes(worker) / MB);
        }
        points.push([step, reads]);
        console.log(`${step} open orders: ${reads.at(-1)?.toFixed(0)} MB`);
      }
    };
    await withWorkplace(async ({ folder }) => {
      const settings = {
        WORKER_MAX_CACHED_WORKFLOWS: String(SDK_DEFAULT),
        WORKFLOW_BUNDLE: await buildBundle(folder),
      };
      await withService(settings, measureIn);
    });
    const cached = points.filter(([orders]) => orders <= SDK_DEFAULT);
    // The first orders also make the worker compile code: they do not count.
    const [first = [0, []], last = [0, []]] = [cached[1], cached.at(-1)];
    const perOrder = last[1].map((mb, read) => (mb - (first[1][read] ?? 0)) / (last[0] - first[0]));
    const curve: Curve = {
      title: 'Memory of a worker',
      x: 'open orders',
      y: 'MB',
      points: points.map(([orders, reads]) => [orders, reads.at(-1) ?? 0]),
    };
    return {
      measurements: [
        ...points.map(([orders, rounds]) => ({
          id: `at-${orders}`,
          title: `with ${orders} open orders`,
          unit: 'MB',
          rounds,
        })),
        { id: 'per-order', title: 'for each cached order', unit: 'MB for each', rounds: perOrder },
      ],
      curves: [curve],
      notes: [`The cache holds at most ${SDK_DEFAULT} orders, the SDK's own number.`],
    };
  },
};

/** As in production: a worker that bundles the workflows itself keeps the memory of that. */
async function buildBundle(folder: string): Promise<string> {
  const file = join(folder, 'workflows.json');
  const env = { PATH: process.env['PATH'], WORKFLOW_BUNDLE: file };
  const script = join(REPOSITORY, 'src/main/build-workflows.ts');
  await promisify(execFile)(process.execPath, [script], { env });
  return file;
}

function residentBytes(pid: number): number {
  const [, kibibytes] =
    /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kibibytes) * 1024;
}
