import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { downloadRelease, reasonOf } from '../files/archives.ts';
import { installed, type InstallOptions, type Way } from '../files/install.ts';
import { findOnPath } from '../processes/executables.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import { SERVER_ARTIFACT, UI_ARTIFACT, type Artifact } from './artifacts.ts';

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

function onPath({ programs }: Artifact, env: NodeJS.ProcessEnv): string[] | undefined {
  const paths = programs.map((name) => findOnPath(name, env));
  return paths.every((path) => path !== undefined) ? paths : undefined;
}

/** Builds the programs of the pinned Go module. @throws SetupError with the end of what Go printed */
async function build(
  folder: string,
  { programs, goPackages }: Artifact,
  { env, signal, guard }: InstallOptions,
): Promise<void> {
  const go = findOnPath('go', env);
  if (go === undefined) throw new SetupError('Go is not on this machine');
  const module = join(folder, 'module');
  await cp(join(import.meta.dirname, 'go'), module, { recursive: true });
  for (const [index, goPackage] of goPackages.entries()) {
    const program = join(folder, programs[index] ?? '');
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
const waysTo = (artifact: Artifact, options: InstallOptions): Way[] => [
  {
    doing: 'downloading it',
    failed: 'no download',
    fill: (folder) => downloadRelease(folder, artifact, options),
  },
  {
    doing: 'building it with Go, some minutes, once for this machine',
    failed: 'no build',
    fill: (folder) => build(folder, artifact, options),
  },
];

/** The programs in the project's cache. @throws Error */
async function inCache(artifact: Artifact, options: InstallOptions): Promise<string[]> {
  const { title, archiveName: name, programs } = artifact;
  const ways = () => waysTo(artifact, options);
  const folder = await installed({ title, name, releases: [artifact], waysTo: ways }, options);
  return programs.map((program) => join(folder, program));
}

async function find(artifact: Artifact, options: InstallOptions): Promise<string[]> {
  return onPath(artifact, options.env) ?? (await inCache(artifact, options));
}

/**
 * Finds the Temporal server: on the PATH, else in the project's cache, which is filled by a download
 * or a build.
 *
 * @throws SetupError with the possible remedies when all of that fails.
 */
export async function findTemporalServer(options: InstallOptions): Promise<TemporalServerPrograms> {
  try {
    const [server = '', sqlTool = ''] = await find(SERVER_ARTIFACT, options);
    return { server, sqlTool };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw new SetupError(`The Temporal server cannot be had (${reasonOf(error)}): ${REMEDIES}`, {
      cause: error,
    });
  }
}

/**
 * Finds the Temporal Web UI in the same places.
 *
 * @returns undefined, with a warning in the log, when it cannot be installed: it is optional.
 */
export async function findTemporalUi(options: InstallOptions): Promise<string | undefined> {
  try {
    const [ui] = await find(UI_ARTIFACT, options);
    return ui;
  } catch (error) {
    options.signal?.throwIfAborted();
    options.log(
      `Warning: the Temporal Web UI cannot be had (${reasonOf(error)}); starting without it`,
    );
    return undefined;
  }
}
