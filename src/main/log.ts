import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';
import type { Config } from '../config.ts';
import { requestFields } from '../http/request-context.ts';

/** Personal data and secrets never reach a log, wherever an object brings them. */
const REDACTED = ['secret', 'apiSecret', 'apiKey', 'buyer', 'buyerEmail', 'buyerPhone'].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
);

/** What is kept for a log that takes no lines; beyond it lines are dropped, and counted. */
const MAX_BACKLOG_BYTES = 256 * 1024;
const RETRY_MS = 250;
const STANDARD_OUTPUT = 1;

/**
 * The log of one process, JSON lines on standard output.
 *
 * @param fields what every line says beside its own fields: by default of the request that is
 *   being answered
 */
export function createLog({ logLevel }: Config, name: string, fields = requestFields): Logger {
  const destination = createDestination(STANDARD_OUTPUT, (droppedLines) => {
    log.warn({ droppedLines }, 'Log lines were dropped: the log took none for a while');
  });
  const log = pino({ name, level: logLevel, redact: REDACTED, mixin: fields }, destination);
  return log;
}

/**
 * Takes lines and never fails: what cannot be written, because a disk is full or a reader sleeps,
 * waits, up to a limit. Written at once otherwise, so that what was logged survives a kill.
 *
 * pino's own destination does not do: it throws when the disk is full, and sleeps in the event loop
 * until there is space.
 *
 * @param onDropped told how many lines were lost, when lines can be written again
 */
function createDestination(
  descriptor: number,
  onDropped: (droppedLines: number) => void,
): DestinationStream {
  const target = openNonBlocking(descriptor);
  let backlog: Buffer[] = [];
  let backlogBytes = 0;
  let dropped = 0;
  let retrying: NodeJS.Timeout | undefined;

  /** Writes what waits, as far as it goes: a line may go half, and its rest later. */
  function writeBacklog(): void {
    let rest = Buffer.concat(backlog);
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(target, rest));
    } catch {
      retrying ??= setTimeout(retry, RETRY_MS).unref();
    }
    backlog = rest.length > 0 ? [rest] : [];
    backlogBytes = rest.length;
  }

  function retry(): void {
    retrying = undefined;
    writeBacklog();
    if (backlogBytes > 0 || dropped === 0) return;
    const droppedLines = dropped;
    dropped = 0;
    onDropped(droppedLines);
  }

  process.once('exit', writeBacklog);
  return {
    write(line) {
      const bytes = Buffer.from(line);
      if (backlogBytes + bytes.length > MAX_BACKLOG_BYTES) {
        dropped += 1;
        return;
      }
      backlog.push(bytes);
      backlogBytes += bytes.length;
      if (retrying === undefined) writeBacklog();
    },
  };
}

/** A pipe whose reader sleeps would stop the process in the middle of a write, unless told not to. */
function openNonBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Another user's pipe, or a system without /proc: then it blocks.
    return descriptor;
  }
}
