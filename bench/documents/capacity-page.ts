import { SetupError } from '../../src/setup-error.ts';
import { numberText } from '../harness/report.ts';
import type { Result } from '../harness/results.ts';
import { medianOf } from '../harness/results.ts';
import { tableOf } from './benchmarks-page.ts';

/** The volumes of the page, in orders a day. */
const VOLUMES = [1e6, 1e7, 1e8];
const SECONDS_PER_DAY = 86_400;

/** What is assumed, not measured. The page lists each with its reason. */
const ASSUMED = {
  peakFactor: {
    value: 4,
    unit: '',
    reason: 'the busiest minute against the mean of the day: sales in the evening and campaigns',
  },
  openDays: {
    value: 3,
    unit: 'days',
    reason: 'from the creation of an order to its end: two until the delivery, one for the window',
  },
  readsPerOrder: {
    value: 5,
    unit: 'GET requests',
    reason: 'a merchant reads an order now and then beside its webhooks',
  },
  utilisation: {
    value: 0.6,
    unit: '',
    reason: 'the share of a processor that is planned with, so that one of three zones can fail',
  },
  databaseCores: { value: 64, unit: 'processors', reason: 'one large PostgreSQL primary' },
  shardMs: {
    value: 5,
    unit: 'ms',
    reason:
      'a commit on a PostgreSQL that waits for a replica in another zone; a shard of Temporal commits one write after the other',
  },
  retentionDays: {
    value: 7,
    unit: 'days',
    reason:
      "Temporal keeps closed workflows for this long (the namespace's retention that the service sets)",
  },
  storedDays: {
    value: 365,
    unit: 'days',
    reason: 'orders that the service keeps in its database before they are archived',
  },
  webhookHeaders: {
    value: 600,
    unit: 'bytes',
    reason: 'headers, signature and TLS records of a webhook',
  },
  cloudActions: {
    value: 500,
    unit: 'actions a second',
    reason:
      "Temporal Cloud's default for a namespace, which grows with use (docs.temporal.io/cloud/limits)",
  },
  databaseDisk: { value: 64, unit: 'TB', reason: 'the disk of one large PostgreSQL primary' },
  historyShare: {
    value: 0.5,
    unit: '',
    reason:
      'the share of Temporal’s processor time that its history service needs; not measured, since the benchmarks run one process with all services',
  },
  matchingShare: { value: 0.2, unit: '', reason: 'the same of matching' },
  frontendShare: {
    value: 0.3,
    unit: '',
    reason: 'the same of frontend, with the work that one process saves',
  },
  hostCores: { value: 8, unit: 'processors', reason: 'one host of Temporal' },
} as const;

/** The measured figures that the page uses: benchmark, measurement, unit. */
const MEASURED = {
  apiMs: ['lifecycle', 'cpu-API', 'CPU ms of the API for each order'],
  getMs: ['get', 'cpu-api', 'CPU ms of the API for each GET'],
  workerMs: ['lifecycle', 'cpu-worker', 'CPU ms of the worker for each order'],
  temporalMs: ['lifecycle', 'cpu-Temporal', 'CPU ms of the Temporal server for each order'],
  workerSmallMs: [
    'cache',
    'cpu-worker',
    'CPU ms of the worker for each order, with a cache that is too small',
  ],
  workerFullMs: ['cache', 'cpu-worker-default', 'the same with all orders in the cache'],
  temporalSmallMs: [
    'cache',
    'cpu-Temporal',
    'CPU ms of the Temporal server for each order, with a cache that is too small',
  ],
  temporalFullMs: ['cache', 'cpu-Temporal-default', 'the same with all orders in the cache'],
  serviceDbMs: ['order-cost', 'service: CPU', "CPU ms of the service's PostgreSQL for each order"],
  temporalDbMs: ['order-cost', 'Temporal: CPU', "CPU ms of Temporal's PostgreSQL for each order"],
  visibilityDbMs: [
    'order-cost',
    "Temporal's visibility: CPU",
    "CPU ms of visibility's PostgreSQL for each order",
  ],
  serviceTx: [
    'order-cost',
    'service: transactions',
    "transactions of the service's PostgreSQL for each order",
  ],
  temporalTx: [
    'order-cost',
    'Temporal: transactions',
    "transactions of Temporal's PostgreSQL for each order",
  ],
  serviceWal: [
    'order-cost',
    'service: write-ahead log',
    "bytes of the service's write-ahead log for each order",
  ],
  temporalWal: [
    'order-cost',
    'Temporal: write-ahead log',
    "bytes of Temporal's write-ahead log for each order",
  ],
  serviceDisk: [
    'order-cost',
    'service: disk space',
    "bytes on disk of the service's database for each order",
  ],
  temporalDisk: [
    'order-cost',
    'Temporal: disk space',
    "bytes on disk of Temporal's database for each order",
  ],
  visibilityWal: [
    'order-cost',
    "Temporal's visibility: write-ahead log",
    "bytes of visibility's write-ahead log for each order",
  ],
  visibilityDisk: [
    'order-cost',
    "Temporal's visibility: disk space",
    "bytes on disk of visibility's database for each order",
  ],
  webhookBody: ['order-cost', 'webhook-body', 'bytes of the body of a webhook'],
  actions: ['order-cost', 'actions-completed', 'billable actions of an order that completes'],
  historyBytes: ['order-cost', 'bytes-completed', 'bytes of history of an order that completes'],
  workerBaseMb: ['memory', 'at-0', 'MB of a worker without orders'],
  workerOrderMb: ['memory', 'per-order', 'MB of a worker for each cached order'],
  gatewayCalls: ['scaling', 'gateway-calls', 'calls to the gateway for each order'],
} as const;

type Figures = Record<keyof typeof MEASURED, number> & Record<keyof typeof ASSUMED, number>;

function readFigures(results: readonly Result[]): Figures {
  const measured = Object.entries(MEASURED).map(([name, [benchmark, id]]) => {
    const result = results.find((one) => one.name === benchmark);
    if (!result)
      throw new SetupError(`There is no result of ${benchmark}: npm run bench -- ${benchmark}`);
    return [name, medianOf(result, id)];
  });
  const assumed = Object.entries(ASSUMED).map(([name, { value }]) => [name, value]);
  return Object.fromEntries([...measured, ...assumed]) as Figures;
}

/** Webhooks of an order that completes. */
const WEBHOOKS = 4;

/** A quantity of the page: its formula in words, and its value at a number of orders a second. */
interface Quantity {
  readonly what: string;
  readonly how: string;
  readonly value: (figures: Figures, load: { daily: number; peak: number }) => number;
  readonly unit: string;
  /** Processes and hosts are whole; at least two, so that one can fail. */
  readonly isWhole?: boolean;
}

const cores = (ms: number, peak: number, { utilisation }: Figures) =>
  (ms * peak) / 1000 / utilisation;

/** A message of an order that is open for days meets a worker that has dropped it. */
const replayed = (ms: number, small: number, full: number) => ms * Math.max(1, small / full);

const workerMs = (f: Figures) => replayed(f.workerMs, f.workerSmallMs, f.workerFullMs);
const temporalMs = (f: Figures) => replayed(f.temporalMs, f.temporalSmallMs, f.temporalFullMs);
const apiMs = (f: Figures) => f.apiMs + f.readsPerOrder * f.getMs;
const temporalStoreMs = (f: Figures) => f.temporalDbMs + f.visibilityDbMs;
const GB = 1e9;
const TB = 1e12;

const QUANTITIES: readonly Quantity[] = [
  {
    what: 'orders at the peak',
    how: 'orders a day ÷ 86,400 s × peak factor',
    value: (_, { peak }) => peak,
    unit: 'a second',
  },
  {
    what: 'API: processes',
    how: '(CPU of an order + reads × CPU of a GET) × peak ÷ utilisation; a process uses one processor',
    value: (f, { peak }) => cores(apiMs(f), peak, f),
    unit: 'processes',
    isWhole: true,
  },
  {
    what: 'workers: processors',
    how: 'CPU of an order × (small cache ÷ whole cache) × peak ÷ utilisation',
    value: (f, { peak }) => cores(workerMs(f), peak, f),
    unit: 'processors',
    isWhole: true,
  },
  {
    what: 'open orders',
    how: 'orders a day × open days',
    value: (f, { daily }) => daily * f.openDays,
    unit: 'orders',
  },
  {
    what: 'memory to cache all of them',
    how: 'open orders × memory of one',
    value: (f, { daily }) => (daily * f.openDays * f.workerOrderMb) / 1000,
    unit: 'GB',
  },
  {
    what: 'Temporal: processors',
    how: 'CPU of an order × (small cache ÷ whole cache) × peak ÷ utilisation: frontend, history and matching together',
    value: (f, { peak }) => cores(temporalMs(f), peak, f),
    unit: 'processors',
    isWhole: true,
  },
  ...(['history', 'matching', 'frontend'] as const).map((service): Quantity => ({
    what: `Temporal: hosts of ${service}`,
    how: 'those processors × its share ÷ 8',
    value: (f, { peak }) => (cores(temporalMs(f), peak, f) * f[`${service}Share`]) / f.hostCores,
    unit: 'hosts',
    isWhole: true,
  })),
  {
    what: 'Temporal: transactions of its database',
    how: 'transactions of an order × peak',
    value: (f, { peak }) => f.temporalTx * peak,
    unit: 'a second',
  },
  {
    what: 'Temporal: history shards',
    how: 'transactions × commit time ÷ utilisation',
    value: (f, { peak }) => (f.temporalTx * peak * f.shardMs) / 1000 / f.utilisation,
    unit: 'shards',
    isWhole: true,
  },
  {
    what: "Temporal's databases: processors",
    how: 'its CPU of an order × peak ÷ utilisation',
    value: (f, { peak }) => cores(temporalStoreMs(f), peak, f),
    unit: 'processors',
    isWhole: true,
  },
  {
    what: "Temporal's databases: write-ahead log",
    how: 'bytes of an order × peak',
    value: (f, { peak }) => ((f.temporalWal + f.visibilityWal) * peak) / 1e6,
    unit: 'MB a second',
  },
  {
    what: "Temporal's databases: disk",
    how: 'bytes of an order, with visibility, × orders a day × (open days + retention)',
    value: (f, { daily }) =>
      ((f.temporalDisk + f.visibilityDisk) * daily * (f.openDays + f.retentionDays)) / GB,
    unit: 'GB',
  },
  {
    what: 'with Temporal Cloud: actions at the peak',
    how: 'billable actions of an order × peak',
    value: (f, { peak }) => f.actions * peak,
    unit: 'a second',
  },
  {
    what: 'with Temporal Cloud: times the default of a namespace',
    how: 'those ÷ 500',
    value: (f, { peak }) => (f.actions * peak) / f.cloudActions,
    unit: 'times',
  },
  {
    what: "the service's database: transactions",
    how: 'transactions of an order × peak',
    value: (f, { peak }) => f.serviceTx * peak,
    unit: 'a second',
  },
  {
    what: "the service's database: processors",
    how: 'its CPU of an order × peak ÷ utilisation',
    value: (f, { peak }) => cores(f.serviceDbMs, peak, f),
    unit: 'processors',
    isWhole: true,
  },
  {
    what: "the service's database: write-ahead log",
    how: 'bytes of an order × peak',
    value: (f, { peak }) => (f.serviceWal * peak) / 1e6,
    unit: 'MB a second',
  },
  {
    what: "the service's database: growth",
    how: 'bytes of an order × orders a day',
    value: (f, { daily }) => (f.serviceDisk * daily) / GB,
    unit: 'GB a day',
  },
  {
    what: "the service's database: after a year",
    how: 'that × 365',
    value: (f, { daily }) => (f.serviceDisk * daily * f.storedDays) / GB,
    unit: 'GB',
  },
  { what: 'webhooks', how: '4 × peak', value: (_, { peak }) => WEBHOOKS * peak, unit: 'a second' },
  {
    what: 'webhooks: egress',
    how: '(body + headers) × webhooks × 8',
    value: (f, { peak }) => ((f.webhookBody + f.webhookHeaders) * WEBHOOKS * peak * 8) / 1e6,
    unit: 'Mbit a second',
  },
  {
    what: 'calls to the gateway',
    how: 'calls of an order × peak',
    value: (f, { peak }) => f.gatewayCalls * peak,
    unit: 'a second',
  },
];

const valueText = ({ isWhole }: Quantity, value: number) =>
  isWhole ? Math.max(2, Math.ceil(value)).toLocaleString('en') : numberText(value);

const loadOf = (daily: number, { peakFactor }: Figures) => ({
  daily,
  peak: (daily / SECONDS_PER_DAY) * peakFactor,
});

/** A part with what one unit of it carries, in orders a second at the peak. */
interface Limit {
  readonly part: string;
  readonly scaledBy: string;
  /** Units can be added while the service runs as it is. */
  readonly scalesOut: boolean;
  readonly perSecond: (figures: Figures) => number;
}

const perSecondOf = (daily: number, { peakFactor }: Figures) =>
  (daily / SECONDS_PER_DAY) * peakFactor;

const LIMITS: readonly Limit[] = [
  {
    part: 'one API process',
    scaledBy: 'more processes',
    scalesOut: true,
    perSecond: (f) => (1000 * f.utilisation) / apiMs(f),
  },
  {
    part: 'one processor of a worker',
    scaledBy: 'more processes',
    scalesOut: true,
    perSecond: (f) => (1000 * f.utilisation) / workerMs(f),
  },
  {
    part: 'one host of Temporal',
    scaledBy: 'more hosts, up to one for each shard',
    scalesOut: true,
    perSecond: (f) => (f.hostCores * 1000 * f.utilisation) / temporalMs(f),
  },
  {
    part: 'a namespace of Temporal Cloud by default',
    scaledBy: 'by itself with use, or on request',
    scalesOut: true,
    perSecond: (f) => f.cloudActions / f.actions,
  },
  {
    part: "Temporal's PostgreSQL: processors of one primary, with visibility",
    scaledBy: 'visibility on a server of its own; then Cassandra or Temporal Cloud',
    scalesOut: false,
    perSecond: (f) => (f.databaseCores * 1000 * f.utilisation) / temporalStoreMs(f),
  },
  {
    part: "Temporal's PostgreSQL: disk of one primary, with visibility",
    scaledBy: 'a shorter retention; then Cassandra or Temporal Cloud',
    scalesOut: false,
    perSecond: (f) => {
      const bytes = (f.temporalDisk + f.visibilityDisk) * (f.openDays + f.retentionDays);
      return perSecondOf((f.databaseDisk * TB) / bytes, f);
    },
  },
  {
    part: "the service's PostgreSQL: processors of one primary",
    scaledBy: 'a database for each group of merchants',
    scalesOut: false,
    perSecond: (f) => (f.databaseCores * 1000 * f.utilisation) / f.serviceDbMs,
  },
  {
    part: "the service's PostgreSQL: disk of one primary, with a year of orders",
    scaledBy: 'an archive of old months; then a database for each group of merchants',
    scalesOut: false,
    perSecond: (f) => perSecondOf((f.databaseDisk * TB) / (f.serviceDisk * f.storedDays), f),
  },
];

/** Every limit with its orders a second and its million orders a day, the lowest first. */
function limitsOf(figures: Figures) {
  return LIMITS.map((limit) => {
    const rate = limit.perSecond(figures);
    return { ...limit, rate, millions: ((rate / figures.peakFactor) * SECONDS_PER_DAY) / 1e6 };
  }).toSorted((one, other) => one.rate - other.rate);
}

/** The parts that do not scale out, in the order in which they are used up. */
function firstLimits(figures: Figures): string {
  return limitsOf(figures)
    .filter(({ scalesOut }) => !scalesOut)
    .map(
      ({ part, millions, scaledBy }, index) =>
        `${index + 1}. ${part}: ${numberText(millions)} million orders a day. After that: ${scaledBy}.`,
    )
    .join('\n');
}

/** The figures of docs/capacity.md. */
export function capacityTables(results: readonly Result[]): string {
  if (results.length === 0) return 'There are no results yet.';
  const figures = readFigures(results);
  const measured = Object.entries(MEASURED).map(([name, [benchmark, , unit]]) => [
    unit,
    numberText(figures[name as keyof Figures]),
    `\`${benchmark}\``,
  ]);
  const assumed = Object.values(ASSUMED).map(({ value, unit, reason }) => [
    reason,
    `${value} ${unit}`,
  ]);
  const needed = QUANTITIES.map((quantity) => [
    quantity.what,
    quantity.how,
    ...VOLUMES.map((daily) => valueText(quantity, quantity.value(figures, loadOf(daily, figures)))),
    quantity.unit,
  ]);
  const limits = limitsOf(figures).map(({ part, rate, millions, scaledBy }) => [
    part,
    numberText(rate),
    numberText(millions),
    scaledBy,
  ]);
  return [
    '## What was measured',
    '',
    tableOf(['', 'Median', 'Benchmark'], measured),
    '',
    '## What is assumed',
    '',
    tableOf(['', ''], assumed),
    '',
    '## What a cluster needs',
    '',
    tableOf(['', 'How', '1 million orders a day', '10 million', '100 million', ''], needed),
    '',
    '## What one unit carries',
    '',
    tableOf(['', 'Orders a second', 'Million orders a day, with the peak', 'Scaled by'], limits),
    '',
    '## Which part becomes the limit first',
    '',
    'APIs, workers and hosts of Temporal are added as needed. These parts are not, in this order:',
    '',
    firstLimits(figures),
  ].join('\n');
}
