import { join } from 'node:path';
import { downloadRelease, reasonOf, type DownloadOptions } from '../files/archives.ts';
import type { Guard } from '../processes/guard.ts';
import { findOnPath } from '../processes/executables.ts';
import { withProgress } from '../processes/progress.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { Artifact } from './artifacts.ts';

/** How to install programs. */
export interface InstallOptions extends DownloadOptions {
  /** The environment of `go` and `tar`; its PATH is searched. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  readonly guard?: Guard | undefined;
}

const githubReleaseOf = (artifact: Artifact, version: string) => ({
  repository: artifact.repository,
  version,
  archiveName: artifact.archiveName,
  checksumsFile: artifact.checksumsFile(version),
  programs: artifact.programs.map(({ name }) => name),
});

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

/**
 * Fills a folder with the programs of one version: downloads the official archive or, if that
 * fails, builds them with Go, which takes some minutes.
 *
 * @throws SetupError with the reason when neither works, or the reason of `signal`.
 */
export async function installRelease(
  folder: string,
  artifact: Artifact,
  { version, goModule }: Artifact['releases'][number],
  options: InstallOptions,
): Promise<void> {
  const { log, signal } = options;
  const title = `${artifact.title} ${version}`;
  try {
    await withProgress(log, `${title}: downloading it`, () =>
      downloadRelease(folder, githubReleaseOf(artifact, version), options),
    );
    return;
  } catch (error) {
    signal?.throwIfAborted();
    log(`${title}: no download (${reasonOf(error)})`);
  }
  try {
    await withProgress(
      log,
      `${title}: building it with Go, some minutes, once for this machine`,
      () => build(folder, artifact, goModule, options),
    );
  } catch (error) {
    signal?.throwIfAborted();
    log(`${title}: no build (${reasonOf(error)})`);
    throw error;
  }
}
