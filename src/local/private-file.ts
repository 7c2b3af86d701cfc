import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file that only its owner can read, at once: a reader finds the old text or the new one,
 * never half of it.
 */
export function writePrivateFile(file: string, text: string): void {
  const unfinished = `${file}.${process.pid}.unfinished`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  rmSync(unfinished, { force: true }); // The mode below counts for new files only.
  writeFileSync(unfinished, text, { mode: 0o600, flush: true });
  renameSync(unfinished, file);
}
