import { beforeAll, describe, expect, test } from 'vitest';
import { installQuietRuntime } from '../support/quiet-runtime.ts';
import { tracedWorkflowBundle, workflowBundle } from '../support/workflow-bundle.ts';
import { failedReplays, readHistory, savedIn, TRACED, UNTRACED } from './histories.ts';
import { pathOf, TRACED_PATHS } from './paths.ts';

const untraced = await savedIn(UNTRACED);
const traced = await savedIn(TRACED);
/** Receives the spans, which replays do not send. */
const sinks = { exporter: { export: { fn() {} } } };
/** Why a history does not replay, by its name. */
type Failures = ReadonlyMap<string, unknown>;
let failures: Record<'untracedWithTraces' | 'tracedWithout' | 'tracedWithTraces', Failures>;

beforeAll(async () => {
  installQuietRuntime();
  const plain = { workflowBundle: await workflowBundle() };
  const tracing = { workflowBundle: await tracedWorkflowBundle(), sinks };
  failures = {
    untracedWithTraces: await failedReplays(tracing, UNTRACED, untraced),
    tracedWithout: await failedReplays(plain, TRACED, traced),
    tracedWithTraces: await failedReplays(tracing, TRACED, traced),
  };
});

describe('tracing can be switched on and off while orders run', () => {
  test.each(untraced)('a worker with traces continues %s', (name) => {
    expect(failures.untracedWithTraces.get(name)).toBeUndefined();
  });

  test.each(traced)('a worker without traces continues %s', (name) => {
    expect(failures.tracedWithout.get(name)).toBeUndefined();
  });

  test.each(traced)('a worker with traces continues %s of its own', (name) => {
    expect(failures.tracedWithTraces.get(name)).toBeUndefined();
  });

  test('the recorded histories contain traces', async () => {
    expect([...new Set(traced.map(pathOf))].toSorted()).toEqual(TRACED_PATHS.toSorted());
    const texts = await Promise.all(traced.map(async (name) => readHistory(TRACED, name)));
    expect(texts.filter((text) => !text.includes('_tracer-data'))).toEqual([]);
  });
});
