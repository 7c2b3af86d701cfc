import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { loadWorkflows } from '../../src/main/worker/workflow-bundle.ts';
import { SetupError } from '../../src/setup-error.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const SILENT = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

const load = (workflowBundle: string, options?: { isTraced: boolean }) =>
  loadWorkflows({ workflowBundle }, SILENT, options);
const prebuilt = () =>
  JSON.parse(readFileSync(inject('workflowBundlePath'), 'utf8')) as Record<string, string>;

test('the prebuilt bundle has the workflows with and without spans', async () => {
  const { code, tracedCode } = prebuilt();
  expect(code).not.toBe(tracedCode);
  const path = inject('workflowBundlePath');
  expect((await load(path)).code === code).toBe(true);
  expect((await load(path, { isTraced: true })).code === tracedCode).toBe(true);
});

test('a bundle of other workflow code is refused, with how to build it', async () => {
  const other = join(temporaryFolder(), 'other.json');
  writeFileSync(other, JSON.stringify({ ...prebuilt(), sources: '0'.repeat(64) }));
  const refused = load(other);
  await expect(refused).rejects.toThrow(SetupError);
  await expect(refused).rejects.toThrow(
    `WORKFLOW_BUNDLE is of other workflow code than this checkout's, ${other}: npm run build:workflows`,
  );
});

test('a file that is no bundle is refused', async () => {
  const missing = join(temporaryFolder(), 'missing.json');
  const broken = join(temporaryFolder(), 'broken.json');
  writeFileSync(broken, '{"code":"');
  for (const file of [missing, broken]) {
    await expect(load(file)).rejects.toThrow(
      `WORKFLOW_BUNDLE names no bundle, ${file}: npm run build:workflows writes one`,
    );
  }
});
