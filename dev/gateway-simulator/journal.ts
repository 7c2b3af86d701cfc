import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** A durable list of lines. Each line is stored completely or not at all. */
export interface Journal {
  /**
   * Appends a line and returns when it is stored.
   *
   * @param sync true waits for the disk; false only for the operating system, so that a power cut
   *   may lose the line but a kill of this process does not
   * @throws Error when it failed: then nothing was appended
   */
  append(line: string, sync: boolean): void;
  close(): void;
}

/** Ignores an incomplete last line: a kill interrupted it before its change was acknowledged. */
function readWhole(file: string): string {
  if (!existsSync(file)) return '';
  const text = readFileSync(file, 'utf8');
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

/** Writes the lines to a new file and syncs it. @throws Error when there is no space */
function writeDraft(draft: string, lines: Iterable<string>): void {
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeFileSync(descriptor, [...lines].map((line) => `${line}\n`).join(''));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Without this, a power cut could restore the replaced file with its incomplete line. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces the file by the given lines; on a full disk, only removes its incomplete line. */
function compactFile(file: string, wholeText: string, lines: Iterable<string>): void {
  const draft = `${file}.new`;
  try {
    writeDraft(draft, lines);
  } catch (error) {
    rmSync(draft, { force: true });
    if (!existsSync(file)) throw error;
    truncateSync(file, Buffer.byteLength(wholeText));
    return;
  }
  renameSync(draft, file);
  syncFolder(dirname(file));
}

/**
 * Opens an append-only file: passes each of its lines to `replay`, then rewrites it with the lines
 * of `compact`. Used instead of node:sqlite, which is experimental in Node 24.12. Without a file,
 * nothing is stored.
 *
 * @throws Error when the file cannot be read or created
 */
export function openJournal(
  file: string | undefined,
  replay: (line: string) => void,
  compact: () => Iterable<string>,
): Journal {
  if (file === undefined) return { append: () => undefined, close: () => undefined };
  mkdirSync(dirname(file), { recursive: true });
  const wholeText = readWhole(file);
  for (const line of wholeText.split('\n').slice(0, -1)) replay(line);
  compactFile(file, wholeText, compact());
  return appendTo(openSync(file, 'a', 0o600));
}

function appendTo(descriptor: number): Journal {
  /** Up to here every line is complete and acknowledged. */
  let lengthBytes = fstatSync(descriptor).size;
  let isTorn = false;

  /** Removes the rest of a failed write, which needs no disk space. */
  function truncateTornLine(): void {
    if (!isTorn) return;
    ftruncateSync(descriptor, lengthBytes);
    isTorn = false;
  }

  return {
    append(line, sync) {
      truncateTornLine();
      const bytes = Buffer.from(`${line}\n`);
      isTorn = true;
      try {
        // Continues after a partial write, until all is written or an error occurs.
        writeFileSync(descriptor, bytes);
        if (sync) fdatasyncSync(descriptor);
      } catch (error) {
        truncateTornLine();
        throw error;
      }
      isTorn = false;
      lengthBytes += bytes.length;
    },
    close: () => closeSync(descriptor),
  };
}
