import { pino } from 'pino';
import type { Config } from '../config.ts';
import { ConfigError, loadConfig } from '../config.ts';
import { SetupError } from '../local/setup-error.ts';

/** Personal data and secrets never reach a log, wherever an object brings them. */
const REDACTED = ['secret', 'apiSecret', 'apiKey', 'buyer', 'buyerEmail', 'buyerPhone'].flatMap(
  (name) => [name, `*.${name}`, `*.*.${name}`],
);

/** The log of one process. */
export function createLog(config: Config, name: string) {
  return pino({ name, level: config.logLevel, redact: REDACTED });
}

/** Runs a part of the service; what stops it from starting is one line and exit 1. */
export async function runMain(main: (config: Config) => Promise<void>): Promise<void> {
  try {
    await main(loadConfig());
  } catch (error) {
    process.stderr.write(`${lineOf(error as Error & { code?: unknown })}\n`);
    process.exit(1);
  }
}

const UNREACHABLE = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT', 'CONNECT_TIMEOUT'];

function lineOf(error: Error & { code?: unknown }): string | undefined {
  if (error instanceof ConfigError || error instanceof SetupError) return error.message;
  if (UNREACHABLE.includes(String(error.code))) {
    return `${error.message}: check DATABASE_URL and TEMPORAL_ADDRESS`;
  }
  return error.stack;
}

/** Resolves with the first signal that asks this process to stop. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  });
}
