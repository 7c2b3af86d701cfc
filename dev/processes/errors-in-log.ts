import { openSync, readSync } from 'node:fs';
import { SetupError } from '../../src/setup-error.ts';
import { describeExit, type ProcessExit } from './process-exit.ts';
import { lastLines } from './server-process.ts';

const INTERVAL_MS = 500;
const CHUNK_BYTES = 256 * 1024;
/** pino's number of the level `error`. */
const ERROR_LEVEL = 50;
/** An error may repeat thousands of times; the log has all of them. */
const SHOWN_PER_MINUTE = 5;

/** The message of a log line that reports an error, or undefined. */
function errorOf(line: string): string | undefined {
  // Parsing every line of a busy log as JSON would be slow.
  if (!/"level":[56]\d/.test(line)) return undefined;
  try {
    const { level, msg, err } = JSON.parse(line) as {
      level?: number;
      msg?: string;
      err?: { message?: string };
    };
    if ((level ?? 0) < ERROR_LEVEL) return undefined;
    const parts = [msg, err?.message].filter((part) => part !== undefined && part !== '');
    return [...new Set(parts)].join(': ');
  } catch {
    return undefined;
  }
}

/** Why a run or a member ends: its process has ended, with the last lines of its log. */
export function endedError(name: string, logFile: string, exit: ProcessExit): SetupError {
  const summary = `${name} ended (${describeExit(exit)}); its log: ${logFile}`;
  // A process that was killed by a signal has not logged the reason.
  const lines = exit.signal === null ? lastLines(logFile) : [];
  const shown = lines.map((line) => `  ${(errorOf(line) ?? line).slice(0, 400)}`);
  return new SetupError([summary, ...shown].join('\n'));
}

/** Returns a function that reads the complete lines added to a file since its last call. */
function createTail(file: string): () => string {
  const descriptor = openSync(file, 'r');
  const buffer = Buffer.alloc(CHUNK_BYTES);
  let position = 0;
  let unfinished = '';
  return () => {
    const length = readSync(descriptor, buffer, 0, CHUNK_BYTES, position);
    position += length;
    const text = unfinished + buffer.toString('utf8', 0, length);
    const end = text.lastIndexOf('\n') + 1;
    unfinished = text.slice(end);
    return text.slice(0, end);
  };
}

/**
 * Shows in the terminal the errors that a part writes to its log.
 *
 * @returns a function that stops it.
 */
export function followErrors(
  name: string,
  logFile: string,
  log: (line: string) => void,
): () => void {
  const readNew = createTail(logFile);
  let shownAt: number[] = [];
  const show = (message: string) => {
    const now = Date.now();
    shownAt = shownAt.filter((time) => now - time < 60_000);
    if (shownAt.length >= SHOWN_PER_MINUTE) return;
    shownAt.push(now);
    log(`${name}: ${message.slice(0, 400)}`);
    if (shownAt.length === SHOWN_PER_MINUTE) log(`${name}: further errors are in ${logFile}`);
  };
  const timer = setInterval(() => {
    for (const line of readNew().split('\n')) {
      const message = errorOf(line);
      if (message !== undefined) show(message);
    }
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}
