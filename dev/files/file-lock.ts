import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

const SQLITE_BUSY = 5;

/** A lock that is held. */
export interface FileLock {
  release(): void;
}

/**
 * Takes a lock that the kernel frees when the process ends in any way: SQLite's lock on an empty
 * database file. Node has no `flock`, and a lock file with a process id can be stale.
 *
 * @returns undefined when another process holds it.
 */
export function tryLock(file: string): FileLock | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is written to the database, so its journal need not be a file.
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
  return { release: () => database.close() };
}

/**
 * Waits until a lock is free and takes it.
 *
 * @throws the reason of `signal` when that aborts the wait.
 */
export async function waitForLock(
  file: string,
  signal: AbortSignal | undefined,
): Promise<FileLock> {
  for (;;) {
    signal?.throwIfAborted();
    const lock = tryLock(file);
    if (lock !== undefined) return lock;
    await delay(200);
  }
}
