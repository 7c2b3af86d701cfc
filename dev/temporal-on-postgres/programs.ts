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
  const paths = programs.map(({ name }) => findOnPath(name, env));
  return paths.every((path) => path !== undefined) ? paths : undefined;
}

/** Builds the programs of a pinned Go module. @throws SetupError with the end of what Go printed */
async function build(
  folder: string,
  artifact: Artifact,
  goModule: string,
  options: InstallOptions,
) {
  const { env, signal, guard } = options;
  const go = findOnPath('go', env);
  if (go === undefined) throw new SetupError('Go is not on this machine');
  for (const { name, goPackage } of artifact.programs) {
    const flags = ['-trimpath', '-buildvcs=false', '-ldflags=-s -w'];
    const args = ['build', ...flags, '-o', join(folder, name), goPackage];
    const { succeeded, output } = await runCommand(go, args, {
      // The flags of the official builds. Go downloads the toolchain that the module requires.
      env: {
        ...env,
        GOFLAGS: '-mod=readonly',
        GOTOOLCHAIN: 'auto',
        GOWORK: 'off',
        CGO_ENABLED: '0',
      },
      cwd: join(import.meta.dirname, 'go', goModule),
      signal,
      guard,
    });
    if (!succeeded) throw new SetupError(output.trim().split('\n').slice(-3).join(' '));
  }
}

/** The ways to a release: the official archive, then a build, which takes some minutes. */
function waysTo(
  artifact: Artifact,
  { version, goModule }: Artifact['releases'][number],
  options: InstallOptions,
): Way[] {
  const { repository, archiveName, programs } = artifact;
  const checksumsFile = artifact.checksumsFile(version);
  const names = programs.map(({ name }) => name);
  const archive = { repository, version, archiveName, checksumsFile, programs: names };
  return [
    {
      doing: 'downloading it',
      failed: 'no download',
      fill: (folder) => downloadRelease(folder, archive, options),
    },
    {
      doing: 'building it with Go, some minutes, once for this machine',
      failed: 'no build',
      fill: (folder) => build(folder, artifact, goModule, options),
    },
  ];
}

/** The programs in the project's cache. @throws Error */
async function inCache(artifact: Artifact, options: InstallOptions): Promise<string[]> {
  const { title, archiveName: name, releases, programs } = artifact;
  const ways = (release: Artifact['releases'][number]) => waysTo(artifact, release, options);
  const folder = await installed({ title, name, releases, waysTo: ways }, options);
  return programs.map((program) => join(folder, program.name));
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
