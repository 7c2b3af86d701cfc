import type { Measurement } from '../harness/benchmark.ts';
import { numberText, spreadOf } from '../harness/report.ts';
import type { Result } from '../harness/results.ts';
import { checkTargets } from '../harness/results.ts';

/** A longer table is folded. */
const ROWS_SHOWN = 20;

const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;

/** A table of Markdown. */
export function tableOf(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(headings), row(headings.map(() => '---')), ...rows.map(row)].join('\n');
}

const spreadText = (measurement: Measurement) => {
  const { least, most } = spreadOf(measurement);
  return `${numberText(least)} – ${numberText(most)}`;
};

/** Every target of every benchmark, with what was measured. */
function targetTable(results: readonly Result[]): string {
  const rows = results.flatMap((result) =>
    checkTargets(result)
      // The dashboard has one for each page: only those that are missed.
      .filter(({ isMet }) => result.name !== 'dashboard' || !isMet)
      .map((target) => {
        const { title, atLeast, atMost, value, isMet, of } = target;
        const measurement = result.measurements.find(({ id }) => id === of);
        return [
          `\`${result.name}\``,
          title,
          atLeast === undefined ? `≤ ${atMost}` : `≥ ${atLeast}`,
          numberText(value),
          measurement ? spreadText(measurement) : '',
          isMet ? 'met' : '**missed**',
        ];
      }),
  );
  const pages = results.find(({ name }) => name === 'dashboard');
  const met = pages ? checkTargets(pages).filter(({ isMet }) => isMet).length : 0;
  return [
    tableOf(['Benchmark', 'What', 'Target', 'Median', 'Least – most', ''], rows),
    ...(pages
      ? [`\nOf the dashboard, ${met} of ${checkTargets(pages).length} targets are met.`]
      : []),
  ].join('\n');
}

/** The percentiles of latencies that have a column each. */
const SHARES = [50, 95, 99];

/**
 * One row for each series of calls, if the benchmark has percentiles of any: `create-32` has `create-32-p50` and
 * so on beside it.
 *
 * @returns the table, and the measurements that are not in it
 */
function seriesTable(measurements: readonly Measurement[]) {
  const byId = new Map(measurements.map((measurement) => [measurement.id, measurement]));
  const shown = new Set<string>();
  const rows = measurements.flatMap(({ id, title }) => {
    const ids = [...SHARES.map((share) => `${id}-p${share}`), id];
    const found = ids.flatMap((one) => byId.get(one) ?? []);
    if (found.length < ids.length) return [];
    for (const one of ids) shown.add(one);
    return [[title, ...found.map((one) => numberText(spreadOf(one).median))]];
  });
  const headings = ['', ...SHARES.map((share) => `${share} of 100 within, ms`), 'Calls a second'];
  return {
    series: rows.length === 0 ? [] : [tableOf(headings, rows), ''],
    others: measurements.filter(({ id }) => !shown.has(id)),
  };
}

function sectionOf(result: Result): string {
  const { name, description, notes = [], failures = [], command, startedAt } = result;
  const { series, others } = seriesTable(result.measurements);
  const rows = others.map((measurement) => [
    measurement.title,
    numberText(spreadOf(measurement).median),
    spreadText(measurement),
    measurement.unit,
  ]);
  const table = tableOf(['', 'Median', 'Least – most', 'Unit'], rows);
  const isFolded = rows.length > ROWS_SHOWN;
  return [
    `## ${name}`,
    '',
    description,
    '',
    ...series,
    isFolded
      ? `<details><summary>${rows.length} figures</summary>\n\n${table}\n\n</details>`
      : table,
    '',
    ...[...notes, ...failures.map((failure) => `Failed: ${failure}`)].flatMap((note) => [note, '']),
    `![The rounds of ${name}](../bench/results/${name}.svg)`,
    '',
    `\`${command}\`, ${startedAt.slice(0, 10)}, ${result.seconds.toFixed(0)} s, commit ${result.machine.commit}. Everything else on the machine used ${result.othersPercent.toFixed(0)} % of one processor.`,
  ].join('\n');
}

/** The figures of docs/benchmarks.md. */
export function benchmarkTables(results: readonly Result[]): string {
  const machine = results[0]?.machine;
  if (!machine) return 'There are no results yet.';
  const { processors, processor, memoryGiB, system, node } = machine;
  return [
    `Machine: ${processors} processors (${processor}), ${memoryGiB} GiB of memory, ${system}, Node ${node}.`,
    '',
    '## Targets',
    '',
    targetTable(results),
    '',
    results.map(sectionOf).join('\n\n'),
  ].join('\n');
}
