import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { CHECKS } from '../../dev/check.ts';
import { filesBelow, read, root } from './files.ts';

interface Job {
  'timeout-minutes'?: number;
  steps: { run?: string; uses?: string }[];
}

/** What the tests read of a workflow. */
interface Workflow {
  permissions: Record<string, string>;
  jobs: Record<string, Job>;
}

const files = filesBelow(['.github']).filter((path) => path.endsWith('.yml'));
const workflows = files.filter((path) => path.startsWith('.github/workflows/'));
const jobsOf = (path: string) => Object.values((parseDocument(read(path)).toJS() as Workflow).jobs);
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };

test.each(files)('%s is YAML', (path) => {
  const { errors, warnings } = parseDocument(read(path));
  expect([...errors, ...warnings]).toEqual([]);
});

test.each(workflows)('%s runs scripts and files that exist', (path) => {
  const commands = jobsOf(path).flatMap(({ steps }) => steps.flatMap(({ run = [] }) => run));
  const text = commands.join('\n');
  const named = [...text.matchAll(/\bnpm run (?:-s )?([\w:-]+)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !(name in scripts))).toEqual([]);
  const checks = Array.from(text.matchAll(/\bnpm run check -- ([\w-]+)/g), ([, word = '']) => word);
  expect(checks.filter((word) => !(word in CHECKS))).toEqual([]);
  const programs =
    text.match(/(?<![\w/])(\.ci|[a-z]+)\/([\w./-]+\.(ts|sh|yml)|run|Dockerfile)\b/g) ?? [];
  expect(programs.filter((program) => !existsSync(`${root}${program}`))).toEqual([]);
});

test.each(workflows)(
  '%s reads the repository, ends, and names the version of each action',
  (path) => {
    const { permissions } = parseDocument(read(path)).toJS() as Workflow;
    expect(permissions).toEqual({ contents: 'read' });
    for (const { 'timeout-minutes': minutes, steps } of jobsOf(path)) {
      expect(minutes).toBeGreaterThan(0);
      for (const { uses } of steps) if (uses) expect(uses).toMatch(/@(v\d+|[0-9a-f]{40})$/);
    }
  },
);

test('CI runs .ci/run', () => {
  const runs = jobsOf('.github/workflows/ci.yml').flatMap(({ steps }) => steps);
  expect(runs.map(({ run }) => run)).toContain('.ci/run');
});
