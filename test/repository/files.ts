import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The repository's top, with a slash at its end. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

export const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8');

/** The files of these folders and of all folders below them, as paths from the repository's top. */
export const filesBelow = (folders: readonly string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
      .map((path) => `${folder}/${path}`)
      .filter((path) => statSync(`${root}${path}`).isFile()),
  );
