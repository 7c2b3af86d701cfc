import { test as base } from 'vitest';
import { createTestDatabase } from './database.ts';

export type OnCleanup = (cleanup: () => Promise<void>) => void;

/** vitest sets up the fixtures of each `test.extend` again; all of them share one part of the file. */
export function once<Args extends unknown[], Part>(start: (...args: Args) => Promise<Part>) {
  let started: Promise<Part> | undefined;
  return (...args: Args): Promise<Part> => (started ??= start(...args));
}

/** Something that all tests of a file share and that is stopped after the last of them. */
export async function stoppedAtEnd<Part extends { stop(): Promise<unknown> }>(
  starting: Promise<Part>,
  onCleanup: OnCleanup,
): Promise<Part> {
  const part = await starting;
  onCleanup(async () => void (await part.stop()));
  return part;
}

/** The `test` of a file whose tests need a database of the service, and no running process. */
export function databaseTest() {
  const createDatabase = once(async (onCleanup: OnCleanup) => {
    const database = await createTestDatabase();
    onCleanup(() => database.drop());
    return database;
  });
  return base
    .extend('isMigrated', { scope: 'file' }, true)
    .extend('database', { scope: 'file' }, ({ isMigrated: _isMigrated }, { onCleanup }) =>
      createDatabase(onCleanup),
    );
}
