import { format, inspect } from 'node:util';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import { isLostTypesQuery } from '../../db/client.ts';
import { ConfigError } from '../../settings.ts';
import { SetupError } from '../../setup-error.ts';
import { readCommandLine } from './command-line.ts';
import { createLog } from './log.ts';

/**
 * Runs the main function of a process, which ends when the function has: what a library keeps open, such as an idle
 * connection or a question to DNS, does not prolong it. A setup error that the operator can fix is one plain line on
 * standard error; every other output is a line of the log. The exit code of any error is 1.
 *
 * @param part.name the `name` of every log line
 * @param part.does what `--help` says; the process has no other option
 * @param part.load reads the settings
 * @param part.logFields returns further fields of every log line
 */
export async function runMain<Loaded extends Config>(
  part: {
    name: string;
    does: string;
    load: () => Loaded;
    logFields?: () => Record<string, unknown>;
  },
  main: (config: Loaded, log: Logger) => Promise<void>,
): Promise<void> {
  const { name, does } = part;
  readCommandLine({
    usage: name,
    does: `${does} Its settings are environment variables: docs/settings.md.`,
  });
  let log: Logger | undefined;
  try {
    const config = part.load();
    log = createLog(config, part.name, part.logFields);
    redirectConsoleTo(log);
    process.on('uncaughtException', (error) => exitWithError(error, log));
    process.on('unhandledRejection', (error) => {
      if (!isLostTypesQuery(error)) exitWithError(error, log);
      log?.warn({ err: error }, 'A new connection to the database was lost');
    });
    await main(config, log);
    process.exit();
  } catch (error) {
    const setupMessage = setupMessageOf(error);
    if (setupMessage === undefined) exitWithError(error, log);
    else exitWithLine(setupMessage);
  }
}

function exitWithError(error: unknown, log: Logger | undefined): never {
  // Without a log, or with a silent one, the error goes to standard error.
  if (log?.isLevelEnabled('fatal') !== true) return exitWithLine(inspect(error));
  log.fatal({ err: error }, 'The process exits with an error');
  process.exit(1);
}

function exitWithLine(line: string): never {
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // The disk is full: the exit code is the only report left.
  }
  process.exit(1);
}

/** Turns the console output of libraries and Node into log lines. */
function redirectConsoleTo(log: Logger): void {
  const print =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (...parts: unknown[]) =>
      log[level]({ printed: true }, format(...parts));
  Object.assign(globalThis.console, {
    trace: print('debug'),
    debug: print('debug'),
    log: print('info'),
    info: print('info'),
    warn: print('warn'),
    error: print('error'),
  });
  // Removes Node's listener, which prints warnings as plain text.
  process.removeAllListeners('warning');
  process.on('warning', (err) => log.warn({ err }, err.message));
}

const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT', 'CONNECT_TIMEOUT'];

/** The line about an error that the operator can fix; undefined for an unexpected error. */
function setupMessageOf(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof SetupError) return error.message;
  const { code, message } = Object(error) as Error & { code?: unknown };
  if (!UNREACHABLE.includes(String(code))) return undefined;
  return `${message}: check DATABASE_URL and TEMPORAL_ADDRESS`;
}

/** Resolves with the first SIGINT or SIGTERM. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  });
}
