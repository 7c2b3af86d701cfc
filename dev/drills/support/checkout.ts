import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { DrillFailure } from './report.ts';

/** The folder of this checkout. */
export const REPOSITORY = join(import.meta.dirname, '../../..');

/** What a worker and the operators' command line need. */
const PARTS = ['package.json', 'tsconfig.json', 'src', 'workflows', 'activities', 'dev'];

/** A change of one file: the text that is replaced, which occurs once, and the text that replaces it. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/**
 * Copies this checkout and changes its code, as the next build of the service would.
 *
 * @throws DrillFailure when a text that is to be replaced does not occur once
 */
export async function copyCheckout(folder: string, changes: readonly Change[]): Promise<string> {
  await mkdir(folder);
  for (const part of PARTS) {
    await cp(join(REPOSITORY, part), join(folder, part), { recursive: true });
  }
  await symlink(join(REPOSITORY, 'node_modules'), join(folder, 'node_modules'));
  for (const { file, from, to } of changes) {
    const path = join(folder, file);
    const [before, after, ...more] = (await readFile(path, 'utf8')).split(from);
    if (after === undefined || more.length > 0) {
      throw new DrillFailure(`${file} does not contain this text once: ${from}`);
    }
    await writeFile(path, `${before}${to}${after}`);
  }
  return folder;
}
