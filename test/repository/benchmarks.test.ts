import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { figuresOf } from '../../bench/documents/benchmarks-page.ts';
import { ratioOf } from '../../bench/harness/rounds.ts';
import { plotOf } from '../../bench/harness/plot.ts';
import { isGood, reportText } from '../../bench/harness/report.ts';
import type { Result } from '../../bench/harness/results.ts';
import { readResults, resultsFolder } from '../../bench/harness/results.ts';
import { read, root } from './files.ts';

/** A result of two measurements and their ratio, which has the target. */
function resultWith(target: { atLeast?: number; atMost?: number }, bare = [10, 20, 40]): Result {
  const own = [8, 18, 20];
  return {
    name: 'example',
    description: 'One thing against another.',
    command: 'npm run bench -- example',
    startedAt: '2026-11-22T10:00:00.000Z',
    seconds: 1,
    othersPercent: 0,
    machine: {
      processor: 'Example <1>',
      processors: 2,
      memoryGiB: 8,
      system: 'Linux',
      node: 'v24',
      commit: 'abc',
    },
    measurements: [
      { id: 'own', title: 'ours & theirs', unit: 'per second', rounds: own },
      { id: 'bare', title: 'bare', unit: 'per second', rounds: bare },
      ratioOf({ id: 'ratio', title: 'ours against bare' }, own, bare),
    ],
    targets: [{ of: 'ratio', ...target }],
  };
}

test('a ratio is that of each round, and its median is compared with the target', () => {
  const result = resultWith({ atLeast: 0.8 });
  expect(result.measurements[2]?.rounds).toEqual([0.8, 0.9, 0.5]);
  expect(isGood(result)).toBe(true);
  expect(isGood(resultWith({ atMost: 0.8 }))).toBe(true);
  expect(isGood(resultWith({ atMost: 0.79 }))).toBe(false);
});

test('a target that is missed is named in the report with what was measured', () => {
  const missed = resultWith({ atLeast: 0.85 });
  expect(isGood(missed)).toBe(false);
  expect(reportText([missed, resultWith({ atLeast: 0.5 })])).toContain(
    'MISSED  ours against bare: at least 0.85: 0.80, MISSED',
  );
});

test('a round without a value, a failure and a benchmark without a result are not good', () => {
  expect(isGood(resultWith({ atLeast: 0.5 }, []))).toBe(false);
  expect(isGood({ ...resultWith({ atLeast: 0.5 }), failures: ['create 503'] })).toBe(false);
  expect(reportText([], ['create'])).toContain('FAILED  create: it ended without a result');
});

test('the plot has a dot for each round and escapes its texts', () => {
  const plot = plotOf(resultWith({ atLeast: 0.85 }));
  expect(plot.match(/class="dot"/g)).toHaveLength(9);
  expect(plot).toContain('ours &amp; theirs');
  expect(plot).toContain('class="target"');
});

test('docs/benchmarks.md has the figures of bench/results, and at most 1,500 words', () => {
  const page = read('docs/benchmarks.md');
  expect(page).toContain(figuresOf(readResults(resultsFolder(false))));
  expect(page.split(/\s+/).length).toBeLessThanOrEqual(1500);
});

const bench = (...args: string[]) =>
  spawnSync(process.execPath, ['bench/run.ts', ...args], { cwd: root, encoding: 'utf8' });

test('bench --help names each benchmark that has a result, and the options', () => {
  const { stdout, status } = bench('--help');
  expect(status).toBe(0);
  for (const { name } of readResults(resultsFolder(false))) {
    expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'));
  }
  expect(stdout).toContain('--quick');
  expect(stdout).toContain('--against');
  expect(bench('repair', '--help').stdout).toContain('--orders');
});

test.each([
  [['latency'], 'There is no benchmark latency'],
  [['get', '--fast'], "Unknown option '--fast'"],
  [['repair', '--orders', 'many'], '--orders must be a whole number'],
  [['--quick', 'get'], "Unexpected argument 'get'"],
])('bench %j is refused with one line and 2', (args, text) => {
  const { stderr, status } = bench(...args);
  expect(status).toBe(2);
  expect(stderr.trim().split('\n')).toEqual([expect.stringContaining(text)]);
});
