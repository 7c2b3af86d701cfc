import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, test } from 'vitest';
import { installQuietRuntime } from '../support/quiet-runtime.ts';
import { workflowBundle } from '../support/workflow-bundle.ts';
import { DIVERGENCES } from './divergences.ts';
import { pathOf, PATHS } from './paths.ts';
import { failedReplays, readHistory, savedIn, UNTRACED, type SavedHistory } from './histories.ts';
import { transitionsOf, transitionsOfTable } from './transitions.ts';

const ACTIVITY_SCHEDULED = 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED';
const saved = await savedIn(UNTRACED);
const read = async (name: string) => JSON.parse(await readHistory(UNTRACED, name)) as SavedHistory;
const replay = async (history: SavedHistory) =>
  Worker.runReplayHistory({ workflowBundle: await workflowBundle() }, history);

/** Why a history does not replay, by its name; one worker replays all of them. */
let failures: ReadonlyMap<string, unknown>;

beforeAll(async () => {
  installQuietRuntime();
  const options = { workflowBundle: await workflowBundle() };
  failures = await failedReplays(options, UNTRACED, saved);
});

describe('the current workflow continues every running order', () => {
  test('there is a saved history for each path and each divergence, and no other', () => {
    const paths = Object.keys({ ...PATHS, ...DIVERGENCES });
    expect([...new Set(saved.map(pathOf))].toSorted()).toEqual(paths.toSorted());
  });

  test('none of them contains folders of the recording machine', async () => {
    const texts = await Promise.all(saved.map(async (name) => readHistory(UNTRACED, name)));
    expect(texts.filter((text) => /"stackTrace":"[^"]|node_modules/.test(text))).toEqual([]);
  });

  test('every transition of the table is in one of them', async () => {
    // A history of `divergences.ts` may begin in another status.
    const names = saved.filter((name) => pathOf(name) in PATHS);
    const taken = await Promise.all(names.map(async (name) => transitionsOf(await read(name))));
    // Without an open payment session there is nothing to close: the cancel takes one step.
    const expected = [...transitionsOfTable(), 'ACCEPTED · ORDER_CANCELLED → CANCELLED'];
    expect([...new Set(taken.flat())].toSorted()).toEqual(expected.toSorted());
  });

  test.each(saved)('%s', (name) => {
    expect(failures.get(name)).toBeUndefined();
  });
});

describe('an incompatible workflow is detected', () => {
  test.each([
    'EVENT_TYPE_TIMER_STARTED',
    'EVENT_TYPE_MARKER_RECORDED',
    'EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES',
  ])('by an activity where its history has its first %s', async (eventType) => {
    const { events } = await read('completed');
    const activity = events.find((event) => event.eventType === ACTIVITY_SCHEDULED);
    const place = events.findIndex((event) => event.eventType === eventType);
    const { eventId } = events[place]!;
    const other = { events: events.with(place, { ...activity!, eventId }) };
    await expect(replay(other)).rejects.toThrow(DeterminismViolationError);
  });
});
