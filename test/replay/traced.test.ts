import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { installQuietRuntime } from '../support/quiet-runtime.ts';
import { tracedWorkflowBundle, workflowBundle } from '../support/workflow-bundle.ts';
import { failedReplays } from './failed-replays.ts';
import { pathOf, TRACED_PATHS } from './paths.ts';

const UNTRACED = join(import.meta.dirname, 'histories');
/** Recorded by a worker with tracing: see `record-histories.ts`. */
const TRACED = join(import.meta.dirname, 'histories-traced');
const untracedFiles = await readdir(UNTRACED);
const tracedFiles = await readdir(TRACED);
/** Receives the spans, which replays do not send. */
const sinks = { exporter: { export: { fn() {} } } };
/** Why a history does not replay, by the name of its file. */
type Failures = ReadonlyMap<string, unknown>;
let failures: Record<'untracedWithTraces' | 'tracedWithout' | 'tracedWithTraces', Failures>;

beforeAll(async () => {
  installQuietRuntime();
  const plain = { workflowBundle: await workflowBundle() };
  const traced = { workflowBundle: await tracedWorkflowBundle(), sinks };
  failures = {
    untracedWithTraces: await failedReplays(traced, UNTRACED, untracedFiles),
    tracedWithout: await failedReplays(plain, TRACED, tracedFiles),
    tracedWithTraces: await failedReplays(traced, TRACED, tracedFiles),
  };
});

describe('tracing can be switched on and off while orders run', () => {
  test.each(untracedFiles)('a worker with traces continues %s', (file) => {
    expect(failures.untracedWithTraces.get(file)).toBeUndefined();
  });

  test.each(tracedFiles)('a worker without traces continues %s', (file) => {
    expect(failures.tracedWithout.get(file)).toBeUndefined();
  });

  test.each(tracedFiles)('a worker with traces continues %s of its own', (file) => {
    expect(failures.tracedWithTraces.get(file)).toBeUndefined();
  });

  test('the recorded histories contain traces', async () => {
    expect([...new Set(tracedFiles.map(pathOf))].toSorted()).toEqual(TRACED_PATHS.toSorted());
    const texts = await Promise.all(
      tracedFiles.map(async (file) => readFile(join(TRACED, file), 'utf8')),
    );
    expect(texts.filter((text) => !text.includes('_tracer-data'))).toEqual([]);
  });
});
