import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Guard } from '../processes/guard.ts';
import { withProgress } from '../processes/progress.ts';
import { reasonOf, type DownloadOptions } from './archives.ts';
import { cachedFolder, isCached } from './cache.ts';

/** Where to keep programs, and what to get them with. */
export interface InstallOptions extends DownloadOptions {
  readonly cacheRoot: string;
  /** The environment of what downloads or builds them; its PATH is searched. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly guard?: Guard | undefined;
}

/** One way to get the programs of a release. */
export interface Way {
  /** What it does, in the log. */
  readonly doing: string;
  /** What it has not done when it fails, in the log. */
  readonly failed: string;
  /** Fills a folder with the programs. @throws Error */
  readonly fill: (folder: string) => Promise<void>;
}

/** Programs, and the releases of them that are known. */
export interface Installable<Release extends { readonly version: string }> {
  readonly title: string;
  /** Of their folder in the cache, with the version after it. */
  readonly name: string;
  /** The current version, and an older one, because the current one may be refused. */
  readonly releases: readonly [Release, ...Release[]];
  /** The ways to a release, in the order in which they are tried. */
  readonly waysTo: (release: Release) => readonly Way[];
}

/** The megabytes of a folder, as a text. */
async function sizeOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true });
  const sizes = await Promise.all(
    entries.map(async (entry) => (await stat(join(folder, entry)).catch(() => undefined))?.size),
  );
  const bytes = sizes.reduce<number>((sum, size = 0) => sum + size, 0);
  return `${Math.round(bytes / 1e6)} MB`;
}

/** Fills a folder in the first way that works. @throws Error with the last reason */
async function fill(
  folder: string,
  title: string,
  ways: readonly Way[],
  { log, signal }: InstallOptions,
): Promise<void> {
  let failure: unknown;
  for (const way of ways) {
    try {
      await withProgress(log, `${title}: ${way.doing}`, () => way.fill(folder), {
        everyMs: 2000,
        state: () => sizeOf(folder),
      });
      log(`${title}: ready, ${await sizeOf(folder)}`);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      failure = error;
      log(`${title}: ${way.failed} (${reasonOf(error)})`);
    }
  }
  throw failure;
}

/**
 * The folder of the project's cache with the first release that is there or can be had.
 *
 * @throws Error with the last reason, or the reason of `signal`
 */
export async function installed<Release extends { readonly version: string }>(
  { title, name, releases, waysTo }: Installable<Release>,
  options: InstallOptions,
): Promise<string> {
  const { cacheRoot: root, log, signal } = options;
  const nameOf = ({ version }: Release) => `${name}-${version}`;
  const kept = releases.find((release) => isCached(root, nameOf(release)));
  let failure: unknown;
  for (const release of kept === undefined ? releases : [kept]) {
    try {
      return await cachedFolder({
        root,
        name: nameOf(release),
        fill: (folder) => fill(folder, `${title} ${release.version}`, waysTo(release), options),
        log,
        signal,
      });
    } catch (error) {
      signal?.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}
