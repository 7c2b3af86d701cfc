import type { ParseArgsOptionsConfig } from 'node:util';
import type { Payorders } from '../../typescript/src/index.ts';

/** What the exit code of a command says. */
export const EXIT = {
  done: 0,
  /** The service or the endpoint refused, or a check has failed. */
  failed: 1,
  /** The command line is wrong, or a variable of the environment is missing or malformed. */
  usage: 2,
  /** The service did not answer, or is temporarily unavailable. */
  unreachable: 3,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A wrong command line. */
export class UsageError extends Error {}

export interface Context {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Prints a line for people, or with `--json` the data alone. */
  print(text: string, data: unknown): void;
  /** Ends when the program is asked to end. */
  readonly signal: AbortSignal;
  /** Waits, and less when the program is asked to end. */
  sleep(ms: number): Promise<void>;
  readonly client: () => Payorders;
}

/** The options and the words after the name of a command. */
export interface Given {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly words: readonly string[];
}

export interface Command {
  readonly name: string;
  /** The arguments after the name. */
  readonly usage: string;
  readonly does: string;
  readonly options?: ParseArgsOptionsConfig;
  run(context: Context, given: Given): Promise<ExitCode>;
}

/** @throws UsageError if it is missing */
export function requireText({ values }: Given, name: string): string {
  const value = values[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new UsageError(`--${name} is missing`);
}

/** The word after the name of a command. @throws UsageError if it is missing */
export function requireWord([word]: Given['words'], what: string): string {
  if (word === undefined) throw new UsageError(`${what} is missing`);
  return word;
}

/** A whole number of 0 or more. @throws UsageError */
export function countOf({ values }: Given, name: string, fallback: number): number {
  const value = values[name];
  if (value === undefined) return fallback;
  if (typeof value === 'string' && /^\d{1,9}$/.test(value)) return Number(value);
  throw new UsageError(`--${name} must be a whole number`);
}

/** @throws UsageError if it is missing */
export function requireVariable({ env }: Context, name: string): string {
  const value = env[name];
  if (value) return value;
  throw new UsageError(`The variable ${name} is missing: see payorders --help`);
}
