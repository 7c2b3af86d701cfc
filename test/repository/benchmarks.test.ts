import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { isGood, resultText, type Result } from '../../bench/harness/results.ts';
import { ratioOf } from '../../bench/harness/rounds.ts';
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
    commit: 'abc',
    processor: 'Example',
    machine: '2 × Example, 8 GiB, Linux, Node v24',
    measurements: [
      { id: 'own', title: 'own', unit: 'per second', rounds: own },
      { id: 'bare', title: 'bare', unit: 'per second', rounds: bare },
      ratioOf({ id: 'ratio', title: 'own against bare' }, own, bare),
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

test('a target that is missed is named in the result with what was measured', () => {
  const missed = resultWith({ atLeast: 0.85 });
  expect(isGood(missed)).toBe(false);
  expect(resultText(missed)).toContain(
    '| example | own against bare | 0.80 (0.50–0.90) ratio | ≥ 0.85, **missed** | 2026-11-22, abc, Example |',
  );
});

test('a round without a value, and a failure, are not good', () => {
  expect(isGood(resultWith({ atLeast: 0.5 }, []))).toBe(false);
  expect(isGood({ ...resultWith({ atLeast: 0.5 }), failures: ['create 503'] })).toBe(false);
});

test('a target of something that is not measured is refused', () => {
  const result = { ...resultWith({}), targets: [{ of: 'latency', atMost: 1 }] };
  expect(() => isGood(result)).toThrow('has no measurement latency');
});

const bench = (...args: string[]) =>
  spawnSync(process.execPath, ['bench/run.ts', ...args], { cwd: root, encoding: 'utf8' });

test('bench --help names each benchmark that docs/benchmarks.md has figures of, and the options', () => {
  const { stdout, status } = bench('--help');
  expect(status).toBe(0);
  const rows = read('docs/benchmarks.md').matchAll(/^\| ([\w-]+) \|.*\| \d{4}-\d\d-\d\d, /gm);
  const names = new Set(Array.from(rows, ([, name]) => name));
  expect(names.size).toBeGreaterThan(5);
  for (const name of names) expect(stdout).toMatch(new RegExp(`^${name} +\\S`, 'm'));
  expect(stdout).toContain('--quick');
  expect(stdout).toContain('--against');
  expect(bench('dashboard', '--help').stdout).toContain('--orders');
});

test('an unknown benchmark is refused with one line and 2', () => {
  const { stderr, status } = bench('latency');
  const line = expect.stringContaining('There is no benchmark latency');
  expect([status, stderr.trim().split('\n')]).toEqual([2, [line]]);
});
