import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { DestinationStream, Logger } from 'pino';
import { pino } from 'pino';
import type { Config } from '../../config.ts';
import { requestFields } from '../../http/request-context.ts';
import { traceFields } from '../../tracing/spans.ts';
import { safeFields, safeLine } from './log-content.ts';

/** The maximum backlog while the log cannot be written. Further lines are dropped and counted. */
const MAX_BACKLOG_BYTES = 256 * 1024;
const RETRY_MS = 250;
const STANDARD_OUTPUT = 1;

/**
 * Creates the log of one process: JSON lines on standard output, without secrets and personal data.
 *
 * @param fields returns the fields that every line has beside its own; by default those of the
 *   current request
 */
export function createLog({ logLevel }: Config, name: string, fields = requestFields): Logger {
  const destination = createDestination(STANDARD_OUTPUT, (droppedLines) => {
    log.warn({ droppedLines }, 'Log lines were dropped: the log could not be written');
  });
  const log = pino(
    {
      name,
      level: logLevel,
      mixin: () => ({ ...fields(), ...traceFields() }),
      formatters: { log: safeFields },
      hooks: { streamWrite: safeLine },
    },
    destination,
  );
  return log;
}

/**
 * Creates a destination that never throws and never blocks. Lines are written synchronously, so
 * that they survive a kill. When the disk is full or the reader does not read, they are kept up to
 * a limit and retried. pino's own destination throws when the disk is full, and blocks the event
 * loop until there is space.
 *
 * @param onDropped called with the number of dropped lines when the log can be written again
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

  /** Writes as much of the backlog as possible; part of a line may be written later. */
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

/**
 * Reopens a pipe in non-blocking mode: otherwise a reader that does not read blocks the process.
 */
function openNonBlocking(descriptor: number): number {
  try {
    if (!fstatSync(descriptor).isFIFO()) return descriptor;
    return openSync(`/proc/self/fd/${descriptor}`, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Another user's pipe, or a system without /proc: writes may block.
    return descriptor;
  }
}
