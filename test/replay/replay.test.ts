import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import { installQuietRuntime } from '../support/quiet-runtime.ts';
import { PATHS } from './paths.ts';
import { transitionsOf, transitionsOfTable } from './transitions.ts';

const FOLDER = join(import.meta.dirname, 'histories');
const ACTIVITY_SCHEDULED = 'EVENT_TYPE_ACTIVITY_TASK_SCHEDULED';
interface SavedHistory {
  events: { eventId: string; eventType: string }[];
}
const saved = (await readdir(FOLDER)).map((file) => file.replace('.json', ''));
const read = async (name: string) =>
  JSON.parse(await readFile(join(FOLDER, `${name}.json`), 'utf8')) as SavedHistory;
const replay = (history: SavedHistory) =>
  Worker.runReplayHistory({ workflowBundle: { codePath: inject('workflowBundlePath') } }, history);

beforeAll(installQuietRuntime);

describe('the current workflow continues every running order', () => {
  test('there is a saved history for each path through the table, and no other', () => {
    expect(saved.toSorted()).toEqual(Object.keys(PATHS).toSorted());
  });

  test('none of them contains folders of the recording machine', async () => {
    const texts = await Promise.all(saved.map(async (name) => JSON.stringify(await read(name))));
    expect(texts.filter((text) => /"stackTrace":"[^"]|node_modules/.test(text))).toEqual([]);
  });

  test('every transition of the table is in one of them', async () => {
    const taken = await Promise.all(saved.map(async (name) => transitionsOf(await read(name))));
    // Without an open payment session there is nothing to close: the cancel takes one step.
    const expected = [...transitionsOfTable(), 'ACCEPTED · ORDER_CANCELLED → CANCELLED'];
    expect([...new Set(taken.flat())].toSorted()).toEqual(expected.toSorted());
  });

  test.each(saved)('%s', async (name) => {
    await replay(await read(name));
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
