import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { runCommand } from '../processes/run-command.ts';

/** Short, so that a start without internet access is not delayed for long. */
const ANSWER_TIMEOUT_MS = 5000;
const ARCHIVE_TIMEOUT_MS = 5 * 60_000;

async function get(url: string, timeoutMs: number, stop?: AbortSignal): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = stop === undefined ? timeout : AbortSignal.any([timeout, stop]);
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return response;
}

/**
 * Fetches a small text.
 *
 * @throws when there is no answer within 5 s, another status than 2xx, or `stop` aborts it.
 */
export async function fetchText(url: string, stop?: AbortSignal): Promise<string> {
  return (await get(url, ANSWER_TIMEOUT_MS, stop)).text();
}

/**
 * Downloads a file.
 *
 * @throws when it takes longer than five minutes, another status than 2xx, or `stop` aborts it.
 */
export async function downloadFile(url: string, file: string, stop?: AbortSignal): Promise<void> {
  const { body } = await get(url, ARCHIVE_TIMEOUT_MS, stop);
  if (body === null) throw new Error(`${url} is empty`);
  await pipeline(body, createWriteStream(file));
}

/** The SHA-256 digest of a file, in hexadecimal. */
export async function sha256Of(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}

/** Which files to extract, and to where. */
export interface Extraction {
  archive: string;
  /** The folder that receives the files. */
  folder: string;
  names: readonly string[];
  env: NodeJS.ProcessEnv;
  signal?: AbortSignal | undefined;
}

/**
 * Extracts the named files from a `.tar.gz`.
 *
 * @throws when the archive is damaged or lacks one of them.
 */
export async function extractFiles({
  archive,
  folder,
  names,
  env,
  signal,
}: Extraction): Promise<void> {
  const args = ['-xzf', archive, '-C', folder, '--', ...names];
  const { succeeded, output } = await runCommand('tar', args, { env, signal });
  if (!succeeded) throw new Error(`tar failed: ${output.trim()}`);
}
