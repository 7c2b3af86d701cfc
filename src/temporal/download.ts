import { createWriteStream } from 'node:fs';
import { chmod, rename, rm } from 'node:fs/promises';
import { basename, isAbsolute, join, normalize } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { runCommand } from '../local/run-command.ts';

/** Where Temporal publishes its programs; the SDKs' own test support asks there, too. */
const TEMPORAL_DOWNLOADS = 'https://temporal.download';

/** Without the internet this is all the time that is lost. */
const ANSWER_TIMEOUT_MS = 5000;
const ARCHIVE_TIMEOUT_MS = 5 * 60_000;

/** Node's names for what the download service calls otherwise. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

const downloadInfo = z.object({
  archiveUrl: z.url({ protocol: /^https?$/ }),
  fileToExtract: z
    .string()
    .refine((path) => !isAbsolute(path) && !normalize(path).startsWith('..')),
});

/** One program of one version. */
export interface TemporalDownload {
  readonly artifact: 'cli' | 'temporal-test-server';
  /** A version with its `v`, or `default`: what fits the SDK that `query` names. */
  readonly version: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The program's name in the folder. */
  readonly program: string;
  /** Another service than Temporal's, with the same answers. */
  readonly baseUrl?: string | undefined;
}

async function get(url: string, signal: AbortSignal): Promise<Response> {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

/**
 * Downloads a program of Temporal's into a folder: asks for its archive's address, fetches that,
 * and takes the one file out.
 *
 * @throws when there is no internet (within 5 s), no such version, or `stop` aborts it.
 */
export async function downloadTemporal(
  folder: string,
  { artifact, version, query, program, baseUrl = TEMPORAL_DOWNLOADS }: TemporalDownload,
  env: NodeJS.ProcessEnv,
  stop?: AbortSignal,
): Promise<void> {
  const withStop = (timeoutMs: number) =>
    AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(stop === undefined ? [] : [stop])]);
  const url = new URL(`${artifact}/${version}`, `${baseUrl}/`);
  const arch = ARCHITECTURES[process.arch] ?? process.arch;
  const parameters = { arch, platform: process.platform, format: 'tar.gz', ...query };
  url.search = new URLSearchParams(parameters).toString();
  const answer = await get(url.href, withStop(ANSWER_TIMEOUT_MS));
  const { archiveUrl, fileToExtract } = downloadInfo.parse(await answer.json());
  const { body } = await get(archiveUrl, withStop(ARCHIVE_TIMEOUT_MS));
  if (body === null) throw new Error(`${archiveUrl} is empty`);
  const archive = join(folder, 'archive.tar.gz');
  await pipeline(body, createWriteStream(archive));
  const tar = await runCommand('tar', ['-xzf', archive, '-C', folder, fileToExtract], {
    env,
    signal: stop,
  });
  if (!tar.succeeded) throw new Error(`tar failed: ${tar.output.trim()}`);
  await rm(archive);
  const path = join(folder, program);
  if (fileToExtract !== basename(path)) await rename(join(folder, fileToExtract), path);
  await chmod(path, 0o755);
}
