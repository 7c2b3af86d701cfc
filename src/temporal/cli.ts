import { join } from 'node:path';
import { cachedFolder } from '../local/cache.ts';
import type { Guard } from '../local/guard.ts';
import { findOnPath, isExecutable, runCommand, withProgress } from '../local/run-command.ts';
import { SetupError } from '../local/setup-error.ts';
import { downloadTemporal } from './download.ts';

/** The last version that `go install` builds: later ones replace modules, which it refuses. */
const CLI_VERSION = '1.5.1';
const CLI_MODULE = 'github.com/temporalio/cli/cmd/temporal';

/** Where to look for the Temporal CLI and how to get it. */
export interface TemporalCliOptions {
  /** The setting of that name, if it is given. */
  readonly temporalCliPath: string | undefined;
  readonly cacheRoot: string;
  /** Handed on to `go` and `tar`; its PATH is searched. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly downloadBaseUrl?: string;
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
}

const REMEDIES = [
  'put `temporal` on the PATH (https://docs.temporal.io/cli)',
  'set TEMPORAL_CLI_PATH to it',
  'install Go, to have it built',
  'or set TEMPORAL_ADDRESS to a running Temporal server',
].join(', ');

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `fetch` says "fetch failed" and keeps the reason to itself.
  return error.cause instanceof Error ? error.cause.message : error.message;
}

async function buildWithGo(folder: string, options: TemporalCliOptions): Promise<void> {
  const { env, signal, guard, log } = options;
  const go = findOnPath('go', env);
  if (go === undefined) {
    throw new SetupError(`The Temporal CLI is not on this machine, and neither is Go: ${REMEDIES}`);
  }
  const what = `Temporal CLI ${CLI_VERSION}: building it with Go, some minutes, once for this machine`;
  const { succeeded, output } = await withProgress(log, what, () =>
    runCommand(go, ['install', `${CLI_MODULE}@v${CLI_VERSION}`], {
      env: { ...env, GOBIN: folder, GOFLAGS: '' },
      cwd: folder,
      signal,
      guard,
    }),
  );
  if (succeeded) return;
  const reason = output.trim().split('\n').slice(-3).join(' ');
  throw new SetupError(`The Temporal CLI could not be built (${reason}): ${REMEDIES}`);
}

async function fetchCli(folder: string, options: TemporalCliOptions): Promise<void> {
  const { env, signal, log, downloadBaseUrl } = options;
  try {
    await withProgress(log, `Temporal CLI ${CLI_VERSION}: downloading it`, () =>
      downloadTemporal(
        folder,
        {
          artifact: 'cli',
          version: `v${CLI_VERSION}`,
          program: 'temporal',
          baseUrl: downloadBaseUrl,
        },
        env,
        signal,
      ),
    );
  } catch (error) {
    signal?.throwIfAborted();
    log(`Temporal CLI: no download (${reasonOf(error)})`);
    await buildWithGo(folder, options);
  }
}

/** @throws SetupError when the setting is given and names no program. */
export function requireTemporalCliPath(temporalCliPath: string | undefined): void {
  if (temporalCliPath === undefined || isExecutable(temporalCliPath)) return;
  throw new SetupError(
    `TEMPORAL_CLI_PATH is wrong: it accepts the path of the Temporal CLI, and ${temporalCliPath} cannot be executed`,
  );
}

/**
 * The Temporal CLI, which has the development server in it: TEMPORAL_CLI_PATH, else the PATH, else
 * the project's cache, which is filled by a download or, where there is no internet but a Go module
 * proxy, by a build.
 *
 * @returns the program's path.
 * @throws SetupError that says what can be done when no way is left.
 */
export async function findTemporalCli(options: TemporalCliOptions): Promise<string> {
  const { temporalCliPath, env, cacheRoot, log, signal } = options;
  requireTemporalCliPath(temporalCliPath);
  if (temporalCliPath !== undefined) return temporalCliPath;
  const installed = findOnPath('temporal', env);
  if (installed !== undefined) return installed;
  const fill = (folder: string) => fetchCli(folder, options);
  const folder = await cachedFolder(cacheRoot, `temporal-cli-${CLI_VERSION}`, fill, log, signal);
  return join(folder, 'temporal');
}
