import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder that only its owner can enter, and those above it that are missing.
 *
 * Not `mkdirSync` with `recursive`: where nothing can be created, as below `/proc`, Node 24 tries
 * for ever.
 */
export function makePrivateFolder(folder: string): void {
  if (existsSync(folder)) return;
  makePrivateFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
}

/**
 * Writes a file that only its owner can read, at once: a reader finds the old text or the new one,
 * never half of it. One process at a time may write a file.
 */
export function writePrivateFile(file: string, text: string): void {
  const unfinished = `${file}.unfinished`;
  makePrivateFolder(dirname(file));
  rmSync(unfinished, { force: true }); // The mode below counts for new files only.
  writeFileSync(unfinished, text, { mode: 0o600, flush: true });
  renameSync(unfinished, file);
}
