import { join } from 'node:path';
import { countOption, flagOption, readCommandLine } from '../src/main/process/command-line.ts';
import { createCanaries, type Canaries } from './canaries/canary.ts';
import { startOtlpReceiver, type OtlpReceiver } from './canaries/otlp-receiver.ts';
import { filesBelow, inMemory, tablesOf } from './canaries/places.ts';
import { reportText, searchPlaces, type Searched } from './canaries/report.ts';
import { markedRun, runWorkload } from './canaries/workload.ts';
import { dataDirIn, withRun, type Run } from './faults/run.ts';

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
  { cluster, folder }: Run,
  collector: OtlpReceiver,
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
    await searchPlaces('logs', filesBelow(join(dataDirIn(folder), 'logs')), canaries),
    await searchPlaces('metrics', await Promise.all(metrics), canaries),
    await searchPlaces('traces', [traces], canaries),
    await searchPlaces("Temporal's databases", (await Promise.all(tables)).flat(), canaries),
  ];
}

/** What the search must find, or it would prove nothing. @returns what it has missed */
async function control(
  run: Run,
  collector: OtlpReceiver,
  canaries: Canaries,
  orderNumbers: readonly string[],
): Promise<string[]> {
  const { cluster } = run;
  const orders = createCanaries();
  for (const orderNumber of orderNumbers) orders.add('order number', orderNumber);
  const searched = await searchAll(run, collector, orders);
  print('\nControl: order numbers, which are where operators need them');
  searched.forEach(({ kind, found }) =>
    print(`${kind.padEnd(40)} ${new Set(found.map(({ canary }) => canary)).size} found`),
  );
  const missed = searched
    .filter(({ kind, found }) => kind !== 'metrics' && found.length === 0)
    .map(({ kind }) => `no order number in ${kind}`);
  const database = new URL(cluster.databaseUrl).pathname.slice(1);
  const own = await tablesOf(cluster.adminDatabaseUrl, database);
  const stored = await searchPlaces("the service's database", own, canaries);
  const distinct = new Set(stored.found.map(({ canary }) => canary)).size;
  print(`Control: ${distinct} canaries are in the service's own database, where most belong`);
  if (distinct < WANTED / 2) missed.push(`only ${distinct} canaries in the service's database`);
  return missed;
}

/** @returns the number of canaries */
function printWorkload(canaries: Canaries, { merchants }: Run, orders: number): number {
  const counts = [...canaries.counts()];
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  print(`\n${total} canaries in ${orders} orders and other requests:`);
  print(counts.map(([place, count]) => `${place} ${count}`).join(', '));
  const answers = merchants.flatMap(({ client }) => client.answers);
  const statuses = [...Map.groupBy(answers, ({ status }) => status)].toSorted(([a], [b]) => a - b);
  print(`answers: ${statuses.map(([status, { length }]) => `${status}: ${length}`).join(', ')}\n`);
  return total;
}

/** @returns the reasons why the check failed */
async function check(run: Run, canaries: Canaries, collector: OtlpReceiver): Promise<string[]> {
  const orderNumbers = await runWorkload({ run, canaries }, values.orders, print);
  const total = printWorkload(canaries, run, orderNumbers.length);
  const searched = await searchAll(run, collector, canaries);
  searched.forEach((one) => print(reportText(one)));
  const missed = await control(run, collector, canaries, orderNumbers);
  const found = searched.reduce((sum, one) => sum + one.found.length, 0);
  return [
    ...missed,
    ...(total < WANTED ? [`only ${total} canaries`] : []),
    ...(found > 0 ? [`${found} canaries where none may be`] : []),
  ];
}

/** `npm run check -- canaries`: exits with 0 if no secret and no personal data is where it must not be. */
async function main(): Promise<number> {
  const startedAt = performance.now();
  const canaries = createCanaries();
  const collector = await startOtlpReceiver();
  const settings = {
    LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    WEBHOOK_RETRY_DELAYS_SECONDS: '1,2,3,4',
  };
  const failures = await withRun(
    async () => ({ ...markedRun(canaries), settings }),
    async (run) => {
      run.keep(true);
      const found = await check(run, canaries, collector);
      const isKept = values.keep || found.length > 0;
      run.keep(isKept);
      if (isKept) print(`the data is kept in ${run.folder}`);
      return found;
    },
  ).finally(() => collector.stop());
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  for (const failure of failures) print(failure);
  print(`canaries: ${failures.length === 0 ? 'passed' : 'failed'} in ${minutes} minutes`);
  return failures.length === 0 ? 0 : 1;
}

process.exit(await main());
