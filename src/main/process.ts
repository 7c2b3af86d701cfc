import { format, inspect } from 'node:util';
import type { Logger } from 'pino';
import { loadConfig, type Config } from '../config.ts';
import { ConfigError } from '../settings.ts';
import { SetupError } from '../setup-error.ts';
import { createLog } from './log.ts';

/**
 * Runs a part of the service. What the person who started it can repair is one plain line on
 * standard error; everything else that is ever printed is a line of the log. Both end with exit 1.
 *
 * @param part.name on every line of its log
 * @param part.logFields what every line says beside its own fields
 */
export async function runMain(
  { name, logFields }: { name: string; logFields?: () => Record<string, unknown> },
  main: (config: Config, log: Logger) => Promise<void>,
): Promise<void> {
  let log: Logger | undefined;
  try {
    const config = loadConfig();
    log = createLog(config, name, logFields);
    redirectConsoleTo(log);
    process.on('uncaughtException', (error) => exitWithError(error, log));
    await main(config, log);
  } catch (error) {
    const setupMessage = setupMessageOf(error);
    if (setupMessage === undefined) exitWithError(error, log);
    else exitWithLine(setupMessage);
  }
}

function exitWithError(error: unknown, log: Logger | undefined): never {
  // Without a log, or with one that is told to be silent, it would end without a word.
  if (log?.isLevelEnabled('fatal') !== true) return exitWithLine(inspect(error));
  log.fatal({ err: error }, 'This process ends');
  process.exit(1);
}

function exitWithLine(line: string): never {
  try {
    process.stderr.write(`${line}\n`);
  } catch {
    // Where the disk is full nobody can be told; the exit code says enough.
  }
  process.exit(1);
}

/** What libraries and Node itself print is no plain text between the lines of the log. */
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
  // Node's own listener prints them.
  process.removeAllListeners('warning');
  process.on('warning', (err) => log.warn({ err }, err.message));
}

const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT', 'CONNECT_TIMEOUT'];

/** The one line about what a person can repair; undefined for what nobody foresaw. */
function setupMessageOf(error: unknown): string | undefined {
  if (error instanceof ConfigError || error instanceof SetupError) return error.message;
  const { code, message } = Object(error) as Error & { code?: unknown };
  if (!UNREACHABLE.includes(String(code))) return undefined;
  return `${message}: check DATABASE_URL and TEMPORAL_ADDRESS`;
}

/** Resolves with the first signal that asks this process to stop. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  });
}
