import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { downloadFile, extractFiles, fetchText, sha256Of } from '../files/archives.ts';
import type { Guard } from '../processes/guard.ts';
import { findOnPath } from '../processes/executables.ts';
import { withProgress } from '../processes/progress.ts';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import type { Artifact } from './artifacts.ts';

const GITHUB = 'https://github.com';

/** Go's names of architectures where Node's differ. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

/** How to install programs. */
export interface InstallOptions {
  /** The environment of `go` and `tar`; its PATH is searched. */
  readonly env: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  /** Replaces https://github.com; the paths are the same. */
  readonly downloadBaseUrl?: string;
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
}

/** A short reason for a failed download or build. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `fetch` says "fetch failed" and keeps the reason in its cause.
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Downloads the archive of a version, verifies its checksum and extracts the programs. */
async function download(
  folder: string,
  artifact: Artifact,
  version: string,
  options: InstallOptions,
) {
  const { repository, archiveName, checksumsFile, programs } = artifact;
  const { downloadBaseUrl = GITHUB, env, signal } = options;
  const releaseUrl = `${downloadBaseUrl}/${repository}/releases/download/v${version}`;
  const arch = ARCHITECTURES[process.arch] ?? process.arch;
  const file = `${archiveName}_${version}_${process.platform}_${arch}.tar.gz`;
  const checksums = await fetchText(`${releaseUrl}/${checksumsFile(version)}`, signal);
  const expected = checksums
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, name]) => name === file)?.[0];
  if (expected === undefined) throw new Error(`no checksum of ${file} is published`);
  const archive = join(folder, file);
  await downloadFile(`${releaseUrl}/${file}`, archive, signal);
  const actual = await sha256Of(archive);
  if (actual !== expected) {
    throw new Error(`${file} has the checksum ${actual} instead of ${expected}`);
  }
  const names = programs.map(({ name }) => name);
  await extractFiles({ archive, folder, names, env, signal });
  await rm(archive);
  await Promise.all(names.map((name) => chmod(join(folder, name), 0o755)));
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
      download(folder, artifact, version, options),
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
