import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

/** Lines that outlive the process: each is there whole or not at all. */
export interface Journal {
  append(line: string): void;
  close(): void;
}

/** A last line without its end was cut off by a kill: its change was never answered for. */
function readLines(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8').split('\n').slice(0, -1);
}

/** Writes the lines beside the file and puts them in its place in one step. */
function replaceFile(file: string, lines: Iterable<string>): void {
  const draft = `${file}.new`;
  const descriptor = openSync(draft, 'w', 0o600);
  for (const line of lines) writeSync(descriptor, `${line}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  renameSync(draft, file);
}

/**
 * Opens an append-only file: gives every line in it to `replay`, then rewrites it as `compact`
 * says. What is written is with the operating system, so it survives `kill -9` (but not a power
 * cut, which a simulator need not). Chosen over node:sqlite because that is still experimental in
 * Node 24.12 and this is shorter. Without a file, nothing is kept.
 */
export function openJournal(
  file: string | undefined,
  replay: (line: string) => void,
  compact: () => Iterable<string>,
): Journal {
  if (file === undefined) return { append: () => undefined, close: () => undefined };
  mkdirSync(dirname(file), { recursive: true });
  for (const line of readLines(file)) replay(line);
  replaceFile(file, compact());
  const descriptor = openSync(file, 'a', 0o600);
  return {
    append: (line) => {
      writeSync(descriptor, `${line}\n`);
    },
    close: () => closeSync(descriptor),
  };
}
