import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../dev/processes/ports.ts';
import { billableActions, eventNames } from '../dev/orders/history.ts';
import type { Benchmark, Measurement } from './harness/benchmark.ts';
import { createLifecycleClient, newObservations } from './lifecycle/order-lifecycle.ts';
import { startMerchant } from '../dev/load/merchant.ts';
import { timed } from './harness/rounds.ts';
import { CONCURRENCY } from './orders.ts';
import { timeByPart, type Period, type TimeByPart } from './profile/cpu-profile.ts';
import { readStatements, type Statement } from './profile/statements.ts';
import { topOfGoProfile, writeGoProfile } from './profile/go-profile.ts';
import { withService, withWorkplace, type BenchService } from './servers.ts';

const LIFECYCLES = { full: 300, quick: 100 };
const WARM_UP_LIFECYCLES = 96;
const SAMPLE_EVERY_US = '500';
/** Smaller parts are added up as "the rest". */
const LEAST_MS = 0.25;
/** PostgreSQL's and Temporal's work that follows the last webhook. */
const AFTERWARDS_MS = 3000;

/** Where the time of a lifecycle goes, in each process. */
export const benchmark: Benchmark = {
  description:
    'Where the time of a lifecycle goes: packages and folders in API and worker, statements in PostgreSQL, functions in Temporal.',
  run: ({ quick }) =>
    withWorkplace(async ({ folder }) => {
      const pprofPort = await freePort();
      const goProfile = join(folder, 'temporal.pb.gz');
      const settings = {
        NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder} --cpu-prof-interval=${SAMPLE_EVERY_US}`,
      };
      const count = LIFECYCLES[quick ? 'quick' : 'full'];
      // The profiles are written when the processes end.
      const postgresSettings = { shared_preload_libraries: 'pg_stat_statements' };
      const measured = await withService(
        { settings, pprofPort, postgresSettings },
        async (service) => ({
          pids: service.pids,
          ...(await measure(service, { pprofPort, goProfile }, count)),
        }),
      );
      const files = readdirSync(folder).map((file) => join(folder, file));
      const threads = threadsOf(files, measured.pids);
      return {
        measurements: [
          ...Object.entries(threads).flatMap(([thread, file]) =>
            partMeasurements(thread, timeByPart(file, measured.period), count),
          ),
          ...statementMeasurements(measured.statements, count),
          ...measured.order,
        ],
        notes: ['The Temporal server, by own time:', ...(await topOfGoProfile(goProfile))],
      };
    }),
};

async function measure(
  service: BenchService,
  { pprofPort, goProfile }: { pprofPort: number; goProfile: string },
  count: number,
) {
  const { client, ownerSql, facts } = service;
  const { keys, receiver } = await startMerchant(facts, { actor: 'bench' });
  const merchant = { origin: facts.apiBaseUrl, ...keys };
  const { runLifecycle: run } = createLifecycleClient(merchant, receiver, CONCURRENCY);
  const runAll = (lifecycles: number) =>
    timed({ count: lifecycles, concurrency: CONCURRENCY }, () => run(newObservations()));
  const warmUpSeconds = await runAll(WARM_UP_LIFECYCLES);
  await ownerSql`CREATE EXTENSION pg_stat_statements`;
  await delay(AFTERWARDS_MS);
  await ownerSql`SELECT pg_stat_statements_reset()`;
  const fromUs = monotonicUs();
  const seconds = Math.max(1, Math.floor((warmUpSeconds * count) / WARM_UP_LIFECYCLES / 2));
  const written = writeGoProfile(`http://127.0.0.1:${pprofPort}`, seconds, goProfile);
  await Promise.all([runAll(count), written]);
  const period: Period = { fromUs, toUs: monotonicUs() };
  await delay(AFTERWARDS_MS);
  const statements = await readStatements(ownerSql);
  const order = await orderMeasurements(client, service);
  receiver.stop();
  return { period, statements, order };
}

const monotonicUs = () => Number(process.hrtime.bigint() / 1000n);

/** Events and actions of the latest order. */
async function orderMeasurements(
  client: BenchService['client'],
  { sql }: BenchService,
): Promise<Measurement[]> {
  const [row] = await sql<[{ orderNumber: string }]>`
    SELECT order_number FROM orders WHERE status = 'COMPLETED' ORDER BY created_at DESC LIMIT 1`;
  const names = await eventNames(client.workflow.getHandle(row.orderNumber));
  const tasks = names.filter((name) => name === 'WORKFLOW_TASK_COMPLETED').length;
  const one = (id: string, title: string, value: number): Measurement => ({
    id,
    title,
    unit: 'of one order',
    rounds: [value],
  });
  return [
    one('events', 'history events', names.length),
    one('tasks', 'workflow tasks', tasks),
    one('actions', 'billable actions', billableActions(names)),
  ];
}

/**
 * The profiles of the threads. The name of a profile's file has the process and the thread, of which 0
 * is the main one; the worker's first other thread runs the orders' workflows.
 */
function threadsOf(files: readonly string[], { API, worker }: Record<string, number>) {
  const fileOf = (pid: number | undefined, thread: number) => {
    const found = files.find((file) =>
      new RegExp(`\\.${pid}\\.${thread}\\.\\d+\\.cpuprofile$`).test(file),
    );
    if (found === undefined) throw new Error(`Process ${pid} wrote no profile of thread ${thread}`);
    return found;
  };
  return {
    API: fileOf(API, 0),
    worker: fileOf(worker, 0),
    "worker's workflows": fileOf(worker, 1),
  };
}

function partMeasurements(thread: string, times: TimeByPart, count: number): Measurement[] {
  const unit = 'ms for each lifecycle';
  const rows = [...times].map(([part, ms]) => ({ part, ms: ms / count }));
  const large = rows.filter(({ ms }) => ms >= LEAST_MS).toSorted((one, other) => other.ms - one.ms);
  const restMs = rows.filter(({ ms }) => ms < LEAST_MS).reduce((sum, { ms }) => sum + ms, 0);
  return [...large, { part: 'the rest', ms: restMs }].map(({ part, ms }) => ({
    id: `${thread}: ${part}`,
    title: `${thread}: ${part}`,
    unit,
    rounds: [ms],
  }));
}

function statementMeasurements(statements: readonly Statement[], count: number): Measurement[] {
  return statements.map(({ database, text, calls, ms }) => ({
    id: `${database}: ${text}`,
    title: `${database}, ${(calls / count).toFixed(1)} ×: ${text}`,
    unit: 'ms for each lifecycle',
    rounds: [ms / count],
  }));
}
