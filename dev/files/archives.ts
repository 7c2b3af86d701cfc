import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { chmod, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { runCommand } from '../processes/run-command.ts';

/** Short, so that a start without internet access is not delayed for long. */
const ANSWER_TIMEOUT_MS = 5000;
const ARCHIVE_TIMEOUT_MS = 5 * 60_000;

const GITHUB = 'https://github.com';

/** Go's names of architectures where Node's differ. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

async function get(url: string, timeoutMs: number, stop?: AbortSignal): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = stop === undefined ? timeout : AbortSignal.any([timeout, stop]);
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

/** A short reason for a failed download or build. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // `fetch` says "fetch failed" and keeps the reason in its cause.
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** The SHA-256 digest of a file, in hexadecimal. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** A GitHub release with an archive for each platform, and their checksums. */
export interface GithubRelease {
  /** owner/name */
  readonly repository: string;
  readonly version: string;
  /** NAME in the archive's file name, `NAME_VERSION_OS_ARCH.tar.gz`. */
  readonly archiveName: string;
  readonly checksumsFile: string;
  /** The programs to extract. */
  readonly programs: readonly string[];
}

/** How to download. */
export interface DownloadOptions {
  /** The environment of `tar`. */
  readonly env: NodeJS.ProcessEnv;
  /** Replaces https://github.com; the paths are the same. */
  readonly downloadBaseUrl?: string;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Downloads the archive of a release for this platform, verifies its published checksum, and extracts
 * the programs into a folder.
 *
 * @throws Error when there is no answer within 5 s, the download takes longer than five minutes, the checksum
 *   is missing or wrong, or the archive lacks a program
 */
export async function downloadRelease(
  folder: string,
  { repository, version, archiveName, checksumsFile, programs }: GithubRelease,
  { downloadBaseUrl = GITHUB, env, signal }: DownloadOptions,
): Promise<void> {
  const releaseUrl = `${downloadBaseUrl}/${repository}/releases/download/v${version}`;
  const arch = ARCHITECTURES[process.arch] ?? process.arch;
  const file = `${archiveName}_${version}_${process.platform}_${arch}.tar.gz`;
  const checksums = await get(`${releaseUrl}/${checksumsFile}`, ANSWER_TIMEOUT_MS, signal);
  const expected = (await checksums.text())
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, name]) => name === file)?.[0];
  if (expected === undefined) throw new Error(`no checksum of ${file} is published`);
  const archive = join(folder, file);
  try {
    const { body } = await get(`${releaseUrl}/${file}`, ARCHIVE_TIMEOUT_MS, signal);
    if (body === null) throw new Error(`${file} is empty`);
    await pipeline(body, createWriteStream(archive));
    const actual = await sha256Of(archive);
    if (actual !== expected) {
      throw new Error(`${file} has the checksum ${actual} instead of ${expected}`);
    }
    const args = ['-xzf', archive, '-C', folder, '--', ...programs];
    const { succeeded, output } = await runCommand('tar', args, { env, signal });
    if (!succeeded) throw new Error(`tar failed: ${output.trim()}`);
  } finally {
    // Also a refused one: the folder is filled in another way then, and kept.
    await rm(archive, { force: true });
  }
  await Promise.all(programs.map((name) => chmod(join(folder, name), 0o755)));
}
