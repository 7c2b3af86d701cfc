import { readCommandLine } from '../../src/main/process/command-line.ts';
import { numberText } from '../harness/report.ts';
import { medianOf, readResults, resultsFolder } from '../harness/results.ts';

readCommandLine({
  usage: 'npm run docs:capacity',
  does: 'Prints the table of docs/capacity.md: what a cluster needs, from the medians of bench/results.',
});
const results = readResults(resultsFolder(false));
function measured(benchmark: string, id: string): number {
  const result = results.find(({ name }) => name === benchmark);
  if (!result) throw new Error(`There is no result of ${benchmark}: npm run bench -- ${benchmark}`);
  return medianOf(result, id);
}
const cost = (id: string) => measured('order-cost', id);

/** What is assumed, with its reason on the page. */
const PEAK_FACTOR = 4;
const OPEN_DAYS = 3;
const READS = 5;
const UTILISATION = 0.6;
const SHARD_MS = 5;
const RETENTION_DAYS = 7;
const STORED_DAYS = 365;
const WEBHOOKS = 4;
const WEBHOOK_HEADERS = 600;
const GATEWAY_CALLS = 7;
const CLOUD_ACTIONS = 500;
const HOST_CORES = 8;
const PRIMARY = { cores: 64, bytes: 64e12 };
/** The shares of Temporal's processor time of its services. */
const SHARES = { history: 0.5, matching: 0.2, frontend: 0.3 };

/** How much more an order costs that the worker has dropped from its cache. */
const replay = (id: string) =>
  Math.max(1, measured('cold-orders', id) / measured('cold-orders', `${id}-default`));

/** Processor milliseconds of an order. */
const MS = {
  api: measured('lifecycle', 'cpu-API') + READS * measured('get', 'cpu-api'),
  worker: measured('lifecycle', 'cpu-worker') * replay('cpu-worker'),
  temporal: measured('lifecycle', 'cpu-Temporal') * replay('cpu-Temporal'),
  serviceDatabase: cost('service: CPU'),
  temporalDatabases: cost('Temporal: CPU') + cost("Temporal's visibility: CPU"),
};
/** Bytes on disk for each order a day, of all that are kept. */
const DISK = {
  service: cost('service: disk space') * STORED_DAYS,
  temporal:
    (cost('Temporal: disk space') + cost("Temporal's visibility: disk space")) *
    (OPEN_DAYS + RETENTION_DAYS),
};
const webhookBytes = cost('webhook-body') + WEBHOOK_HEADERS;
const temporalLog =
  cost('Temporal: write-ahead log') + cost("Temporal's visibility: write-ahead log");

/** Orders a day, and a second at the peak. */
type Load = { daily: number; peak: number };
const atPeak = (amount: number) => (load: Load) => amount * load.peak;
const eachDay = (amount: number) => (load: Load) => amount * load.daily;
/** Processes and hosts: at least two, so that one can fail. */
function units(ofOneOrder: number, capacity = 1) {
  const needed = (peak: number) => (ofOneOrder * peak) / 1000 / UTILISATION / capacity;
  return ({ peak }: Load) => Math.max(2, Math.ceil(needed(peak)));
}

const NEEDS: Readonly<Record<string, (load: Load) => number>> = {
  'orders a second at the peak': atPeak(1),
  'API: processes': units(MS.api),
  'workers: processors': units(MS.worker),
  'open orders, millions': eachDay(OPEN_DAYS / 1e6),
  'memory to cache them, GB': eachDay((OPEN_DAYS * measured('memory', 'per-order')) / 1e3),
  'Temporal: processors': units(MS.temporal),
  'Temporal: hosts of history': units(MS.temporal * SHARES.history, HOST_CORES),
  'Temporal: hosts of matching': units(MS.temporal * SHARES.matching, HOST_CORES),
  'Temporal: hosts of frontend': units(MS.temporal * SHARES.frontend, HOST_CORES),
  'Temporal: history shards': units(cost('Temporal: transactions') * SHARD_MS),
  'Temporal Cloud: actions a second': atPeak(cost('actions-completed')),
  "Temporal's database: transactions a second": atPeak(cost('Temporal: transactions')),
  "Temporal's databases: processors": units(MS.temporalDatabases),
  "Temporal's databases: write-ahead log, MB a second": atPeak(temporalLog / 1e6),
  "Temporal's databases: disk, GB": eachDay(DISK.temporal / 1e9),
  "service's database: transactions a second": atPeak(cost('service: transactions')),
  "service's database: processors": units(MS.serviceDatabase),
  "service's database: write-ahead log, MB a second": atPeak(
    cost('service: write-ahead log') / 1e6,
  ),
  "service's database: growth, GB a day": eachDay(cost('service: disk space') / 1e9),
  "service's database: a year of orders, TB": eachDay(DISK.service / 1e12),
  'webhooks a second': atPeak(WEBHOOKS),
  'webhooks: egress, Mbit a second': atPeak((webhookBytes * WEBHOOKS * 8) / 1e6),
  'calls to the gateway a second': atPeak(GATEWAY_CALLS),
};

/** What one unit carries: orders a second at the peak. */
const perSecond = (ms: number, processors = 1) => (processors * 1000 * UTILISATION) / ms;
const ofDisk = (bytes: number) => (PRIMARY.bytes / bytes / 86_400) * PEAK_FACTOR;
const LIMITS: Readonly<Record<string, number>> = {
  'one API process': perSecond(MS.api),
  'one processor of a worker': perSecond(MS.worker),
  'one host of Temporal': perSecond(MS.temporal, HOST_CORES),
  'a namespace of Temporal Cloud by default': CLOUD_ACTIONS / cost('actions-completed'),
  "Temporal's PostgreSQL: processors of one primary": perSecond(
    MS.temporalDatabases,
    PRIMARY.cores,
  ),
  "Temporal's PostgreSQL: disk of one primary": ofDisk(DISK.temporal),
  "service's PostgreSQL: processors of one primary": perSecond(MS.serviceDatabase, PRIMARY.cores),
  "service's PostgreSQL: disk of one primary": ofDisk(DISK.service),
};

const text = (value: number) =>
  Number.isInteger(value) ? value.toLocaleString('en') : numberText(value);
function print(headings: string[], rows: (readonly [string, ...number[]])[]): void {
  const lines = rows.map(([what, ...values]) => [what, ...values.map(text)]);
  for (const cells of [headings, headings.map(() => '---'), ...lines])
    console.log(`| ${cells.join(' | ')} |`);
  console.log();
}
print(['', 'Processor ms of an order'], Object.entries(MS));
const needs = Object.entries(NEEDS).map(([what, quantity]) => {
  const at = (daily: number) => quantity({ daily, peak: (daily / 86_400) * PEAK_FACTOR });
  return [what, at(1e6), at(1e7), at(1e8)] as const;
});
print(['', '1 million orders a day', '10 million', '100 million'], needs);
const limits = Object.entries(LIMITS).toSorted(([, one], [, other]) => one - other);
print(
  ['', 'Orders a second', 'Million orders a day, with the peak'],
  limits.map(([what, rate]) => [what, rate, ((rate / PEAK_FACTOR) * 86_400) / 1e6]),
);
