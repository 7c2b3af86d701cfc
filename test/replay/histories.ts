import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';

/** Recorded by a worker without tracing: see `record-histories.ts`. */
export const UNTRACED = join(import.meta.dirname, 'histories');
/** Recorded by a worker with tracing. */
export const TRACED = join(import.meta.dirname, 'histories-traced');

/** A saved history, with the fields that tests read. */
export interface SavedHistory {
  readonly events: readonly { readonly eventId: string; readonly eventType: string }[];
}

/** The names of the saved histories of a folder. A later recording of a path has a number: `completed.2`. */
export async function savedIn(folder: string): Promise<string[]> {
  const files = await readdir(folder);
  return files.map((file) => file.replace(/\.json\.gz$/, ''));
}

const fileOf = (folder: string, name: string) => join(folder, `${name}.json.gz`);

export async function readHistory(folder: string, name: string): Promise<string> {
  return gunzipSync(await readFile(fileOf(folder, name))).toString();
}

/** Saves the JSON text of a history; the same text makes the same file. */
export async function saveHistory(folder: string, name: string, text: string): Promise<void> {
  await writeFile(fileOf(folder, name), gzipSync(text, { level: 9 }));
}

async function* historiesOf(folder: string, names: readonly string[]) {
  for (const workflowId of names) {
    const history: unknown = JSON.parse(await readHistory(folder, workflowId));
    yield { workflowId, history };
  }
}

/**
 * Replays saved histories with one worker, which takes a tenth of the time that one worker for each history takes.
 *
 * @returns the error of each history that does not replay, by its name
 * @throws Error when one was not replayed
 */
export async function failedReplays(
  options: ReplayWorkerOptions,
  folder: string,
  names: readonly string[],
): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>();
  let replayed = 0;
  for await (const result of Worker.runReplayHistories(options, historiesOf(folder, names))) {
    replayed += 1;
    if (result.error) failures.set(result.workflowId, result.error);
  }
  if (replayed !== names.length) throw new Error(`${replayed} of ${names.length} were replayed`);
  return failures;
}
