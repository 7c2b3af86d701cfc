import { join } from 'node:path';
import { reasonOf } from '../files/archives.ts';
import { cachedFolder, isCached } from '../files/cache.ts';
import { findOnPath, isExecutable } from '../processes/executables.ts';
import { SetupError } from '../../src/setup-error.ts';
import { SERVER_ARTIFACT, UI_ARTIFACT, type Artifact } from './artifacts.ts';
import { installRelease, type InstallOptions } from './install.ts';

/** Where to search for Temporal's programs and how to install them. */
export interface TemporalProgramsOptions extends InstallOptions {
  /** The setting TEMPORAL_PROGRAMS_DIR. */
  readonly temporalProgramsDir: string | undefined;
  readonly cacheRoot: string;
}

/** The paths of the server and of the tool that creates its schema. */
export interface TemporalServerPrograms {
  readonly server: string;
  readonly sqlTool: string;
}

const REMEDIES = [
  'put `temporal-server` and `temporal-sql-tool` on the PATH (https://github.com/temporalio/temporal/releases)',
  'set TEMPORAL_PROGRAMS_DIR to their folder',
  'install Go, to have them built',
  'or set TEMPORAL_ADDRESS to a running Temporal server',
].join(', ');

/** The paths of an artifact's programs in one folder, or undefined when one is missing. */
function inFolder(folder: string, { programs }: Artifact): string[] | undefined {
  const paths = programs.map(({ name }) => join(folder, name));
  return paths.every(isExecutable) ? paths : undefined;
}

function onPath({ programs }: Artifact, env: NodeJS.ProcessEnv): string[] | undefined {
  const paths = programs.map(({ name }) => findOnPath(name, env));
  return paths.every((path) => path !== undefined) ? paths : undefined;
}

/** The programs of the first release that is cached or can be installed. @throws the last error */
async function installInCache(
  artifact: Artifact,
  options: TemporalProgramsOptions,
): Promise<string[]> {
  const { cacheRoot, log, signal } = options;
  const nameOf = (version: string) => `${artifact.archiveName}-${version}`;
  const kept = artifact.releases.find(({ version }) => isCached(cacheRoot, nameOf(version)));
  const candidates = kept === undefined ? artifact.releases : [kept];
  let failure: unknown;
  for (const release of candidates) {
    const fill = (folder: string) => installRelease(folder, artifact, release, options);
    try {
      const folder = await cachedFolder({
        root: cacheRoot,
        name: nameOf(release.version),
        fill,
        log,
        signal,
      });
      return artifact.programs.map(({ name }) => join(folder, name));
    } catch (error) {
      signal?.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
}

/**
 * Checks the setting TEMPORAL_PROGRAMS_DIR.
 *
 * @throws SetupError when its folder lacks a program of the server
 */
function requireTemporalProgramsDir(temporalProgramsDir: string | undefined): void {
  if (temporalProgramsDir === undefined) return;
  if (inFolder(temporalProgramsDir, SERVER_ARTIFACT) !== undefined) return;
  throw new SetupError(
    `TEMPORAL_PROGRAMS_DIR is wrong: it accepts a folder with temporal-server and temporal-sql-tool in it, and ${temporalProgramsDir} has not both`,
  );
}

async function find(artifact: Artifact, options: TemporalProgramsOptions): Promise<string[]> {
  const { temporalProgramsDir: folder, env } = options;
  const given = folder === undefined ? undefined : inFolder(folder, artifact);
  return given ?? onPath(artifact, env) ?? (await installInCache(artifact, options));
}

/**
 * Finds the Temporal server: in TEMPORAL_PROGRAMS_DIR, else on the PATH, else in the project's cache,
 * which is filled by a download or a build.
 *
 * @throws SetupError with the possible remedies when all of that fails.
 */
export async function findTemporalServer(
  options: TemporalProgramsOptions,
): Promise<TemporalServerPrograms> {
  requireTemporalProgramsDir(options.temporalProgramsDir);
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
export async function findTemporalUi(
  options: TemporalProgramsOptions,
): Promise<string | undefined> {
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
