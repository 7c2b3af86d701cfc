import type { Measurement } from '../harness/benchmark.ts';
import { numberText, spreadOf } from '../harness/report.ts';
import type { CheckedTarget, Result } from '../harness/results.ts';
import { checkTargets } from '../harness/results.ts';

const EVENLY = 'begun evenly at half the rate';

/** The figures that the page shows of each benchmark: their ids, and what the page calls them. */
const SHOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  lifecycle: {
    rate: '32 at a time',
    'lifecycle-p50': 'half within',
    'lifecycle-p99': '99 of 100 within',
    'alone-create-p50': 'POST /orders alone, half within',
    'alone-deliver-p50': 'deliver alone, half within',
    [`${EVENLY}-create-p50`]: 'POST /orders beginning evenly, half within',
    [`${EVENLY}-deliver-p50`]: 'deliver beginning evenly, half within',
    [`${EVENLY}-deliver-p99`]: 'deliver beginning evenly, 99 of 100 within',
    'cpu-service': 'the service, with Temporal and PostgreSQL',
    'cpu-worker': 'its worker',
  },
  overload: {
    'kept-4-many merchants': '4 times the best number of clients, many merchants',
    'kept-16-many merchants': '16 times',
    'kept-4-one merchant': '4 times, one merchant',
    'kept-16-one merchant': '16 times',
    'told-many merchants': 'told to wait, the slowest',
    'told-one merchant': 'told to wait, the slowest, one merchant',
  },
  'order-cost': {
    'actions-completed': 'completed',
    'actions-disputed': 'disputed and refunded',
    'actions-cancelled': 'cancelled',
    'bytes-completed': 'completed',
    'service: disk space': "service's disk",
    'service: write-ahead log': "service's write-ahead log",
    'Temporal: disk space': "Temporal's disk",
    'Temporal: write-ahead log': "Temporal's write-ahead log",
  },
  create: { post: 'POST /orders', start: 'bare start', ratio: 'the first against the second' },
  get: {
    api: 'GET /orders/{id}',
    bare: 'bare server',
    ratio: 'the first against the second',
  },
  list: {
    'few-COMPLETED, last page': 'last page, COMPLETED, ten thousand',
    'many-COMPLETED, last page': 'the same, a million',
    slowest: 'slowest page, 99 of 100 within',
    'ratio-p99': 'most that a million costs a page',
    'creating-ratio': 'creating, a million against ten thousand',
  },
  webhooks: {
    deliveries: 'deliveries',
    earlier: 'deliveries after 100,000',
    bare: 'bare POSTs',
    ratio: 'deliveries against bare POSTs',
    flatness: 'after 100,000 against after none',
  },
  'cold-orders': {
    'ratio-default': 'lifecycles, small against whole cache',
    'cpu-worker': 'worker, small cache',
    'cpu-worker-default': 'worker, whole cache',
  },
  'open-orders': { many: 'beside 100,000', none: 'beside none', ratio: 'ratio' },
  repair: { comparison: 'comparing all of them', slowest: 'repaired, the slowest' },
  memory: { 'at-0': 'no orders', 'at-2395': '2,395 orders', 'per-order': 'each order' },
  dashboard: {
    'home-p95': 'home, 95 of 100 within',
    'orders-p95': 'orders',
    'deliveries-p95': 'deliveries',
    'operator: audit-p95': "operators' audit",
    'csv-seconds': 'CSV of all orders',
  },
};

/** One figure: its median, the least and the most if they differ, and its target. */
function rowOf(title: string, measurement: Measurement, target: CheckedTarget | undefined): string {
  const { median, least, most } = spreadOf(measurement);
  const spread = least === most ? '' : ` (${numberText(least)}–${numberText(most)})`;
  const bound = target?.atLeast === undefined ? `≤ ${target?.atMost}` : `≥ ${target.atLeast}`;
  const goal = target ? `; target ${bound}${target.isMet ? '' : ', **missed**'}` : '';
  return `| ${title} | ${numberText(median)}${spread} ${measurement.unit}${goal} |`;
}

/** Shows what was chosen, without figures that an older result lacks, and every target that is missed. */
function sectionOf(result: Result, shown: Readonly<Record<string, string>>): string {
  const { name, description, measurements, notes = [], failures = [], machine } = result;
  const targets = checkTargets(result);
  const missed = targets.filter(({ of, isMet }) => !isMet && !(of in shown));
  const titles = [...Object.entries(shown), ...missed.map(({ of, title }) => [of, title] as const)];
  const rows = titles.flatMap(([id, title]) => {
    const found = measurements.find((measurement) => measurement.id === id);
    const target = targets.find(({ of }) => of === id);
    return found ? [rowOf(title, found, target)] : [];
  });
  const failed = failures.length > 0 ? [`Failed: ${failures.length}, first: ${failures[0]}`] : [];
  const { startedAt, othersPercent } = result;
  return [
    `## ${name}`,
    [description, ...notes].join(' '),
    ['|  | Median (least–most) |', '|---|---|', ...rows].join('\n'),
    ...failed,
    `![${name}](../bench/results/${name}.svg)`,
    `${startedAt.slice(0, 10)}, commit ${machine.commit}, other load ${othersPercent.toFixed(0)} %`,
  ].join('\n\n');
}

/** The figures of docs/benchmarks.md. */
export function figuresOf(results: readonly Result[]): string {
  const sections = Object.entries(SHOWN).flatMap(([name, shown]) => {
    const result = results.find((one) => one.name === name);
    return result ? [{ result, text: sectionOf(result, shown) }] : [];
  });
  const [first] = sections;
  if (!first) return 'There are no results yet.';
  const { processors, processor, memoryGiB, system, node } = first.result.machine;
  const targets = sections.flatMap(({ result }) => checkTargets(result));
  const met = targets.filter(({ isMet }) => isMet).length;
  return [
    `Machine: ${processors} processors (${processor}), ${memoryGiB} GiB, ${system}, Node ${node}. ${met} of ${targets.length} targets are met. "Other load" is what everything else on the machine used, in percent of one processor.`,
    ...sections.map(({ text }) => text),
  ].join('\n\n');
}
