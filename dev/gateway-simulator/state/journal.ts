import {
  closeSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Opens a list of lines that survives a kill of this process: an append-only file. Passes each of its lines
 * to `replay`. An incomplete last line is removed: a kill interrupted it before its change was acknowledged.
 *
 * @throws Error when the file cannot be read or created
 */
export function openJournal(file: string, replay: (line: string) => void) {
  mkdirSync(dirname(file), { recursive: true });
  const descriptor = openSync(file, 'a+', 0o600);
  const text = readFileSync(descriptor, 'utf8');
  const complete = text.slice(0, text.lastIndexOf('\n') + 1);
  for (const line of complete.split('\n').slice(0, -1)) replay(line);
  let lengthBytes = Buffer.byteLength(complete);
  ftruncateSync(descriptor, lengthBytes);
  return {
    /** Returns when the operating system has the line. @throws Error when it failed: then nothing was appended */
    append(line: string): void {
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
