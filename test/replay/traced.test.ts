import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { loadWorkflows } from '../../src/main/workflow-bundle.ts';
import { installQuietRuntime } from '../support/quiet-runtime.ts';
import { pathOf, TRACED_PATHS } from './paths.ts';

const UNTRACED = join(import.meta.dirname, 'histories');
/** Recorded by a worker with tracing: see `record-histories.ts`. */
const TRACED = join(import.meta.dirname, 'histories-traced');
const silent = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
const untracedFiles = await readdir(UNTRACED);
const tracedFiles = await readdir(TRACED);
/** Receives the spans, which replays do not send. */
const sinks = { exporter: { export: { fn() {} } } };
let traced: { code: string };

beforeAll(async () => {
  installQuietRuntime();
  traced = await loadWorkflows({ workflowBundle: undefined }, silent, { isTraced: true });
});

const read = async (folder: string, file: string) =>
  JSON.parse(await readFile(join(folder, file), 'utf8')) as object;

describe('tracing can be switched on and off while orders run', () => {
  test.each(untracedFiles)('a worker with traces continues %s', async (file) => {
    await Worker.runReplayHistory({ workflowBundle: traced, sinks }, await read(UNTRACED, file));
  });

  test.each(tracedFiles)('a worker without traces continues %s', async (file) => {
    const workflowBundle = { codePath: inject('workflowBundlePath') };
    await Worker.runReplayHistory({ workflowBundle }, await read(TRACED, file));
  });

  test.each(tracedFiles)('a worker with traces continues %s of its own', async (file) => {
    await Worker.runReplayHistory({ workflowBundle: traced, sinks }, await read(TRACED, file));
  });

  test('the recorded histories contain traces', async () => {
    expect([...new Set(tracedFiles.map(pathOf))].toSorted()).toEqual(TRACED_PATHS.toSorted());
    const texts = await Promise.all(
      tracedFiles.map(async (file) => readFile(join(TRACED, file), 'utf8')),
    );
    expect(texts.filter((text) => !text.includes('_tracer-data'))).toEqual([]);
  });
});
