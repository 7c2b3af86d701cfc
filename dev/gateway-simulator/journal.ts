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

/** Lines that outlive the process: each is there whole or not at all. */
export interface Journal {
  /**
   * Returns when the line is on the disk.
   *
   * @param kept false for a line that a power cut may take: then the system has it, so that a kill
   *   of this process does not lose it
   * @throws Error when that did not work: then nothing of it is there
   */
  append(line: string, kept: boolean): void;
  close(): void;
}

/** A last line without its end was cut off by a kill: its change was never answered for. */
function readWhole(file: string): string {
  if (!existsSync(file)) return '';
  const text = readFileSync(file, 'utf8');
  return text.slice(0, text.lastIndexOf('\n') + 1);
}

/** Writes the lines to a new file that is on the disk. @throws Error when there is no space */
function writeDraft(draft: string, lines: Iterable<string>): void {
  const descriptor = openSync(draft, 'w', 0o600);
  try {
    writeFileSync(descriptor, [...lines].map((line) => `${line}\n`).join(''));
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Without this, a power cut could bring the replaced file back, and with it its old end. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Makes the file as short as it may be; on a full disk it stays as it was, less a torn line. */
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
 * Opens an append-only file: gives every line in it to `replay`, then rewrites it as `compact`
 * says. Chosen over node:sqlite because that is still experimental in Node 24.12 and this is
 * shorter. Without a file, nothing is kept.
 *
 * @throws Error when the file cannot be read or made
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
  /** Up to here every line is whole and answered for. */
  let lengthBytes = fstatSync(descriptor).size;
  let isTorn = false;

  /** Takes back what a failed write has left. Needs no space on the disk. */
  function mend(): void {
    if (!isTorn) return;
    ftruncateSync(descriptor, lengthBytes);
    isTorn = false;
  }

  return {
    append(line, kept) {
      mend();
      const bytes = Buffer.from(`${line}\n`);
      isTorn = true;
      try {
        // Goes on after a short write, until all is written or the disk says no.
        writeFileSync(descriptor, bytes);
        if (kept) fdatasyncSync(descriptor);
      } catch (error) {
        mend();
        throw error;
      }
      isTorn = false;
      lengthBytes += bytes.length;
    },
    close: () => closeSync(descriptor),
  };
}
