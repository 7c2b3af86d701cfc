import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** A list of lines that survives a kill of this process. Each line is stored completely or not at all. */
export interface Journal {
  /**
   * Appends a line and returns when the operating system has it.
   *
   * @throws Error when it failed: then nothing was appended
   */
  append(line: string): void;
  close(): void;
}

/**
 * Opens an append-only file and passes each of its lines to `replay`. An incomplete last line is removed: a
 * kill interrupted it before its change was acknowledged. Without a file, nothing is stored.
 *
 * @throws Error when the file cannot be read or created
 */
export function openJournal(file: string | undefined, replay: (line: string) => void): Journal {
  if (file === undefined) return { append: () => undefined, close: () => undefined };
  mkdirSync(dirname(file), { recursive: true });
  const descriptor = openSync(file, 'a+', 0o600);
  const text = readFileSync(descriptor, 'utf8');
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const line of complete.split('\n').slice(0, -1)) replay(line);
  let lengthBytes = Buffer.byteLength(complete);
  ftruncateSync(descriptor, lengthBytes);
  return {
    append(line) {
      const bytes = Buffer.from(`${line}\n`);
      try {
        // Continues after a partial write, until all is written or an error occurs.
        writeFileSync(descriptor, bytes);
      } catch (error) {
        // Needs no disk space.
        ftruncateSync(descriptor, lengthBytes);
        throw error;
      }
      lengthBytes += bytes.length;
    },
    close: () => closeSync(descriptor),
  };
}
