import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { countOption, flagOption, readCommandLine } from '../src/main/process/command-line.ts';
import { createCanaries, type Canaries } from './canaries/canary.ts';
import { missedPlants } from './canaries/control.ts';
import { startOtlpReceiver, type OtlpReceiver } from './canaries/otlp-receiver.ts';
import { filesBelow, inMemory, tablesOf } from './canaries/places.ts';
import { reportText, searchPlaces, type Searched } from './canaries/report.ts';
import { runWorkload, type Workload } from './canaries/workload.ts';
import { startProductionLike, type ProductionLike } from './production-like/start.ts';

const WANTED = 1000;
const TEMPORAL_DATABASES = ['temporal', 'temporal_visibility'];

const { values } = readCommandLine({
  usage: 'npm run check -- canaries',
  does: "Runs orders with marked secrets and personal data, and searches logs, metrics, traces and Temporal's databases for the marks. It exits with 0 if no mark is where it must not be.",
  options: {
    orders: countOption(160, 'orders of the run'),
    keep: flagOption('keeps the data also if nothing is found'),
  },
});
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Every place where no canary may be. */
async function searchAll(
  cluster: ProductionLike,
  collector: OtlpReceiver,
  logs: string,
  canaries: Canaries,
): Promise<Searched[]> {
  const { adminDatabaseUrl, metricsUrls } = cluster;
  const metrics = Object.entries(metricsUrls).map(async ([name, url]) => {
    const text = await (await fetch(url)).text();
    return inMemory(`metrics of ${name}`, () => text);
  });
  const tables = TEMPORAL_DATABASES.map((database) => tablesOf(adminDatabaseUrl, database));
  const traces = inMemory('traces', () => collector.texts().join('\n'));
  return [
    await searchPlaces('logs', filesBelow(logs), canaries),
    await searchPlaces('metrics', await Promise.all(metrics), canaries),
    await searchPlaces('traces', [traces], canaries),
    await searchPlaces("Temporal's databases", (await Promise.all(tables)).flat(), canaries),
  ];
}

/** What the search must find, or it would prove nothing. @returns what it has missed */
async function control(
  cluster: ProductionLike,
  collector: OtlpReceiver,
  logs: string,
  { canaries, workload }: { canaries: Canaries; workload: Workload },
): Promise<string[]> {
  const orders = createCanaries();
  for (const orderNumber of workload.orderNumbers) orders.add('order number', orderNumber);
  const searched = await searchAll(cluster, collector, logs, orders);
  print('\nControl: order numbers, which are where operators need them');
  searched.forEach(({ kind, found }) =>
    print(`${kind.padEnd(40)} ${new Set(found.map(({ canary }) => canary)).size} found`),
  );
  const missed = searched
    .filter(({ kind, found }) => kind !== 'metrics' && found.length === 0)
    .map(({ kind }) => `no order number in ${kind}`);
  const url = new URL(cluster.databaseUrl);
  const own = await tablesOf(cluster.adminDatabaseUrl, url.pathname.slice(1));
  const stored = await searchPlaces("the service's database", own, canaries);
  const distinct = new Set(stored.found.map(({ canary }) => canary)).size;
  print(`Control: ${distinct} canaries are in the service's own database, where most belong`);
  if (distinct < WANTED / 2) missed.push(`only ${distinct} canaries in the service's database`);
  const log = readFileSync(cluster.member('api-1').logFile, 'utf8');
  const plants = await missedPlants(cluster.adminDatabaseUrl, log);
  print(`Control: ${plants.length === 0 ? 'every planted value was found' : plants.join(', ')}`);
  return [...missed, ...plants];
}

function printWorkload(canaries: Canaries, { orderNumbers, statuses }: Workload): number {
  const counts = [...canaries.counts()];
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  print(`\n${total} canaries in ${orderNumbers.length} orders and other requests:`);
  print(counts.map(([place, count]) => `${place} ${count}`).join(', '));
  const answers = [...statuses].toSorted(([one], [other]) => one - other);
  print(`answers: ${answers.map(([status, count]) => `${status}: ${count}`).join(', ')}\n`);
  return total;
}

/** @returns the reasons why the check failed */
async function check(dataDir: string): Promise<string[]> {
  const collector = await startOtlpReceiver();
  const cluster = await startProductionLike({
    dataDir,
    settings: {
      LOG_LEVEL: 'trace',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      RATE_LIMIT_PER_SECOND: '100000',
      BUYER_RATE_LIMIT_PER_SECOND: '100000',
      DASHBOARD_RATE_LIMIT_PER_SECOND: '100000',
      WEBHOOK_RETRY_DELAYS_SECONDS: '1,2,3,4',
    },
  });
  try {
    const canaries = createCanaries();
    const { orders } = values;
    const workload = await runWorkload(cluster, { canaries, orders, dataDir, log: print });
    const total = printWorkload(canaries, workload);
    const logs = join(dataDir, 'logs');
    const searched = await searchAll(cluster, collector, logs, canaries);
    searched.forEach((one) => print(reportText(one)));
    const missed = await control(cluster, collector, logs, { canaries, workload });
    const found = searched.reduce((sum, one) => sum + one.found.length, 0);
    return [
      ...workload.failures,
      ...missed,
      ...(total < WANTED ? [`only ${total} canaries`] : []),
      ...(found > 0 ? [`${found} canaries where none may be`] : []),
    ];
  } finally {
    await cluster.stop();
    await collector.stop();
  }
}

/** `npm run check -- canaries`: exits with 0 if no secret and no personal data is where it must not be. */
async function main(): Promise<number> {
  const startedAt = performance.now();
  const folder = await mkdtemp(join(tmpdir(), 'merchant-orders-canaries-'));
  // PostgreSQL does not run as root: its account must be able to enter the folder.
  await chmod(folder, 0o755);
  const failures = await check(join(folder, 'data'));
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  if (values.keep || failures.length > 0) print(`the data is kept in ${folder}`);
  else await rm(folder, { recursive: true, force: true });
  for (const failure of failures) print(failure);
  print(`canaries: ${failures.length === 0 ? 'passed' : 'failed'} in ${minutes} minutes`);
  return failures.length === 0 ? 0 : 1;
}

process.exit(await main());
