import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';

const SQLITE_BUSY = 5;

/** A lock that is held. */
export interface FileLock {
  release(): void;
}

/**
 * Takes a lock that the kernel drops with the process, however that ends: SQLite's lock on an
 * empty database file. Node has no `flock`, and a lock file with a process id in it can be stale.
 *
 * @returns undefined when somebody else holds it.
 */
export function tryLock(file: string): FileLock | undefined {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    // Nothing is ever written, so no journal has to survive us.
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
  return { release: () => database.close() };
}

/**
 * Takes a lock as soon as its holder lets go.
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
