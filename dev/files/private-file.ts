import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { SetupError } from '../../src/setup-error.ts';

/**
 * Creates a folder that only its owner can enter, and its missing parents.
 *
 * `mkdirSync` with `recursive` does not terminate in Node 24 where nothing can be created, as below
 * `/proc`.
 */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return;
  makePrivateFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/**
 * Writes a file atomically that only its owner can read: a reader sees the old text or the new one.
 * Only one process at a time may write a file.
 */
export function writePrivateFile(file: string, text: string | Uint8Array): void {
  const unfinished = `${file}.unfinished`;
  makePrivateFolder(dirname(file));
  rmSync(unfinished, { force: true }); // The mode below applies only to new files.
  writeFileSync(unfinished, text, { mode: 0o600, flush: true });
  renameSync(unfinished, file);
}

/**
 * A JSON file of a data directory that only its owner can read.
 *
 * @param remedy what the developer can do about a damaged file
 */
export function privateJson<Content>(name: string, schema: z.ZodType<Content>, remedy: string) {
  const fileIn = (dataDir: string) => join(dataDir, name);
  return {
    /** @returns undefined when there is no such file. @throws SetupError in one line when it is damaged */
    read(dataDir: string): Content | undefined {
      const file = fileIn(dataDir);
      if (!existsSync(file)) return undefined;
      try {
        return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
      } catch (error) {
        throw new SetupError(`${file} is damaged: ${remedy}`, { cause: error });
      }
    },
    exists: (dataDir: string) => existsSync(fileIn(dataDir)),
    write: (dataDir: string, content: Content) =>
      writePrivateFile(fileIn(dataDir), `${JSON.stringify(content, undefined, 2)}\n`),
    remove: (dataDir: string) => rmSync(fileIn(dataDir), { force: true }),
  };
}
