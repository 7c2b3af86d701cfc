import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { tryLock, waitForLock } from './file-lock.ts';
import { withProgress } from '../processes/progress.ts';

/** The name of the project's folder in whatever cache directory it is given. */
export const CACHE_NAME = 'merchant-payment-order-service';

/** Where this project keeps what it built or downloaded, once for each user of a machine. */
export function cacheRoot(cacheHome: string): string {
  return join(cacheHome, CACHE_NAME);
}

/** Whether a folder of the cache is there, complete. */
export function isCached(root: string, name: string): boolean {
  return existsSync(join(root, name));
}

/**
 * A folder of the cache, filled on first use.
 *
 * It is filled beside its place and renamed, so a folder with this name is always complete; a lock
 * makes a second process wait instead of doing the same work, and is free again if the first dies.
 *
 * @param fill gets the folder to fill.
 * @param log hears that another process is waited for.
 * @throws what `fill` throws, or the reason of `signal`.
 */
export async function cachedFolder(
  root: string,
  name: string,
  fill: (folder: string) => Promise<void>,
  log: (line: string) => void,
  signal?: AbortSignal,
): Promise<string> {
  const folder = join(root, name);
  if (existsSync(folder)) return folder;
  await mkdir(root, { recursive: true });
  const lockFile = join(root, `${name}.lock`);
  const waiting = `Waiting for another process that is getting ${name}`;
  const lock =
    tryLock(lockFile) ?? (await withProgress(log, waiting, () => waitForLock(lockFile, signal)));
  try {
    if (existsSync(folder)) return folder;
    await removePartial(root, name);
    const partial = await mkdtemp(join(root, `${name}.partial-`));
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

/** What a killed process left half done: with the lock in hand, nobody is working on it. */
async function removePartial(root: string, name: string): Promise<void> {
  const entries = await readdir(root);
  const partial = entries.filter((entry) => entry.startsWith(`${name}.partial-`));
  await Promise.all(
    partial.map((entry) => rm(join(root, entry), { recursive: true, force: true })),
  );
}
