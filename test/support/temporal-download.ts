import { chmod, rename, rm } from 'node:fs/promises';
import { basename, isAbsolute, join, normalize } from 'node:path';
import { z } from 'zod';
import { downloadFile, extractFiles, fetchText } from '../../dev/files/archives.ts';

/** Where Temporal publishes its programs; the SDKs' test support uses it too. */
const TEMPORAL_DOWNLOADS = 'https://temporal.download';

/** Node's names of platforms and architectures, mapped to those of the download service. */
const ARCHITECTURES: Partial<Record<NodeJS.Architecture, string>> = { x64: 'amd64' };

const downloadInfo = z.object({
  archiveUrl: z.url({ protocol: /^https?$/ }),
  fileToExtract: z
    .string()
    .refine((path) => !isAbsolute(path) && !normalize(path).startsWith('..')),
});

/** The test server for a version of the SDK. */
interface TestServerDownload {
  readonly sdkVersion: string;
  /** The program's name in the folder. */
  readonly program: string;
  /** Another download service, with the same responses as Temporal's. */
  readonly baseUrl?: string | undefined;
}

/**
 * Downloads Temporal's time-skipping test server into a folder: requests the address of its archive,
 * fetches the archive, and extracts the one file.
 *
 * @throws if the internet cannot be reached (within 5 s) or there is no such version.
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
  await extractFiles({ archive, folder, names: [fileToExtract], env });
  await rm(archive);
  const path = join(folder, program);
  if (fileToExtract !== basename(path)) await rename(join(folder, fileToExtract), path);
  await chmod(path, 0o755);
}
