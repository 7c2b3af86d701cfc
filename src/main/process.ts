import { pino } from 'pino';
import type { Config } from '../config.ts';
import { ConfigError, loadConfig } from '../config.ts';

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
    const line = error instanceof ConfigError ? error.message : (error as Error).stack;
    process.stderr.write(`${line}\n`);
    process.exit(1);
  }
}

/** Resolves with the first signal that asks this process to stop. */
export function stopRequested(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
  });
}
