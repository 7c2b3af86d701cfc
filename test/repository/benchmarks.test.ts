import { expect, test } from 'vitest';
import { ratioOf } from '../../bench/harness/rounds.ts';
import { plotOf } from '../../bench/harness/plot.ts';
import { isGood, reportText } from '../../bench/harness/report.ts';
import type { Result } from '../../bench/harness/results.ts';

/** A result of two measurements and their ratio, of which the target is the ratio's. */
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
