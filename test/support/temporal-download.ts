import { chmod, rename, rm } from 'node:fs/promises';
import { basename, isAbsolute, join, normalize } from 'node:path';
import { z } from 'zod';
import { downloadFile, extractFiles, fetchText } from '../../dev/files/archives.ts';

/** Where Temporal publishes its programs; the SDKs' own test support asks there, too. */
const TEMPORAL_DOWNLOADS = 'https://temporal.download';

/** Node's names for what the download service calls otherwise. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

const downloadInfo = z.object({
  archiveUrl: z.url({ protocol: /^https?$/ }),
  fileToExtract: z
    .string()
    .refine((path) => !isAbsolute(path) && !normalize(path).startsWith('..')),
});

/** The test server that fits a version of the SDK. */
interface TestServerDownload {
  readonly sdkVersion: string;
  /** The program's name in the folder. */
  readonly program: string;
  /** Another service than Temporal's, with the same answers. */
  readonly baseUrl?: string | undefined;
}

/**
 * Downloads Temporal's time-skipping test server into a folder: asks for its archive's address,
 * fetches that, and takes the one file out.
 *
 * @throws when there is no internet (within 5 s) or no such version.
 */
export async function downloadTestServer(
  folder: string,
  { sdkVersion, program, baseUrl = TEMPORAL_DOWNLOADS }: TestServerDownload,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const url = new URL('temporal-test-server/default', `${baseUrl}/`);
  url.search = new URLSearchParams({
    arch: ARCHITECTURES[process.arch] ?? process.arch,
    platform: process.platform,
    format: 'tar.gz',
    'sdk-name': 'sdk-typescript',
    'sdk-version': sdkVersion,
  }).toString();
  const { archiveUrl, fileToExtract } = downloadInfo.parse(JSON.parse(await fetchText(url.href)));
  const archive = join(folder, 'archive.tar.gz');
  await downloadFile(archiveUrl, archive);
  await extractFiles(archive, folder, [fileToExtract], env);
  await rm(archive);
  const path = join(folder, program);
  if (fileToExtract !== basename(path)) await rename(join(folder, fileToExtract), path);
  await chmod(path, 0o755);
}
