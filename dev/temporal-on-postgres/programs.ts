import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { downloadRelease, reasonOf, type GithubRelease } from '../files/archives.ts';
import { installed, type InstallOptions, type Way } from '../files/install.ts';
import { findOnPath } from '../processes/executables.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';

/** The server, and the tool that creates its database schema. */
export const SERVER_RELEASE: GithubRelease = {
  repository: 'temporalio/temporal',
  version: '1.32.2',
  archiveName: 'temporal',
  checksumsFile: 'checksums.txt',
  programs: ['temporal-server', 'temporal-sql-tool'],
};

/** The package of each program's source. The module in `go` pins the same version. */
const GO_PACKAGES = ['go.temporal.io/server/cmd/server', 'go.temporal.io/server/cmd/tools/sql'];

/** The paths of the server and of the tool that creates its schema. */
export interface TemporalServerPrograms {
  readonly server: string;
  readonly sqlTool: string;
}

const REMEDIES = [
  'put `temporal-server` and `temporal-sql-tool` on the PATH (https://github.com/temporalio/temporal/releases)',
  'install Go, to have them built',
  'or set TEMPORAL_ADDRESS to a running Temporal server',
].join(', ');

/** Builds the programs of the pinned Go module. @throws SetupError with the end of what Go printed */
async function build(folder: string, { env, signal, guard }: InstallOptions): Promise<void> {
  const go = findOnPath('go', env);
  if (go === undefined) throw new SetupError('Go is not on this machine');
  const module = join(folder, 'module');
  await cp(join(import.meta.dirname, 'go'), module, { recursive: true });
  for (const [index, goPackage] of GO_PACKAGES.entries()) {
    const program = join(folder, SERVER_RELEASE.programs[index] ?? '');
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags=-s -w', '-o', program];
    const { succeeded, output } = await runCommand(go, [...args, goPackage], {
      // The flags of the official builds. Go downloads the toolchain that the module requires.
      env: { ...env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'auto', GOWORK: 'off', CGO_ENABLED: '0' },
      cwd: module,
      signal,
      guard,
    });
    if (!succeeded) throw new SetupError(output.trim().split('\n').slice(-3).join(' '));
  }
  await rm(module, { recursive: true });
}

/** The ways to the programs: the official archive, then a build, which takes some minutes. */
const waysTo = (options: InstallOptions): Way[] => [
  {
    doing: 'downloading it',
    failed: 'no download',
    fill: (folder) => downloadRelease(folder, SERVER_RELEASE, options),
  },
  {
    doing: 'building it with Go, some minutes, once for this machine',
    failed: 'no build',
    fill: (folder) => build(folder, options),
  },
];

/** The programs of the PATH, else those in the project's cache. @throws Error */
async function find(options: InstallOptions): Promise<string[]> {
  const { archiveName: name, programs } = SERVER_RELEASE;
  const onPath = programs.map((program) => findOnPath(program, options.env));
  if (onPath.every((path) => path !== undefined)) return onPath;
  const ways = () => waysTo(options);
  const what = {
    title: 'Temporal server',
    name,
    releases: [SERVER_RELEASE],
    waysTo: ways,
  } as const;
  const folder = await installed(what, options);
  return programs.map((program) => join(folder, program));
}

/**
 * Finds the Temporal server: on the PATH, else in the project's cache, which is filled by a download
 * or a build.
 *
 * @throws SetupError with the possible remedies when all of that fails.
 */
export async function findTemporalServer(options: InstallOptions): Promise<TemporalServerPrograms> {
  try {
    const [server = '', sqlTool = ''] = await find(options);
    return { server, sqlTool };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new SetupError(`The Temporal server cannot be had (${reasonOf(error)}): ${REMEDIES}`, {
      cause: error,
    });
  }
}
