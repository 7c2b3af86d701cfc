import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { tryLock, waitForLock } from './file-lock.ts';
import { withProgress } from '../processes/progress.ts';

/** The name of the project's folder in a cache directory. */
export const CACHE_NAME = 'merchant-payment-order-service';

/** The folder for built and downloaded programs, shared by all checkouts of a user. */
export function cacheRoot(): string {
  return join(homedir(), '.cache', CACHE_NAME);
}

/** Whether a folder of the cache exists, which means that it is complete. */
export function isCached(root: string, name: string): boolean {
  return existsSync(join(root, name));
}

/** A folder of the cache and what fills it. */
export interface CachedFolder {
  root: string;
  name: string;
  /** Fills the given folder. */
  fill: (folder: string) => Promise<void>;
  /** Receives a line when another process is filling the folder. */
  log: (line: string) => void;
  signal?: AbortSignal | undefined;
}

/**
 * A folder of the cache, filled on first use.
 *
 * It is filled under another name and renamed, so a folder with this name is always complete. A lock
 * makes a second process wait instead of doing the same work; it is free again if the first dies.
 *
 * @throws what `fill` throws, or the reason of `signal`.
 */
export async function cachedFolder({
  root,
  name,
  fill,
  log,
  signal,
}: CachedFolder): Promise<string> {
  const folder = join(root, name);
  if (existsSync(folder)) return folder;
  await mkdir(root, { recursive: true });
  const lockFile = join(root, `${name}.lock`);
  const partial = join(root, `${name}.partial`);
  const waiting = `Waiting for another process that is getting ${name}`;
  const lock =
    tryLock(lockFile) ?? (await withProgress(log, waiting, () => waitForLock(lockFile, signal)));
  try {
    if (existsSync(folder)) return folder;
    // A killed process may have left it.
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial);
    try {
      await fill(partial);
      await chmod(partial, 0o755);
      await rename(partial, folder);
    } finally {
      await rm(partial, { recursive: true, force: true });
    }
    return folder;
  } finally {
    lock.release();
  }
}
