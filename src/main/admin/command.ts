import { parseArgs } from 'node:util';
import type { AdminService } from './service.ts';

/** What was typed cannot be understood: its message is the one line to print. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An option that takes a value. */
export interface OptionSpec {
  /** What stands for the value in the help. */
  readonly value: string;
  readonly help: string;
  readonly required?: true;
  readonly choices?: readonly string[];
  /** Used when the option is not given. */
  readonly fallback?: string;
}
/** An option that takes none: it is given, or not. */
export interface FlagSpec {
  readonly flag: true;
  readonly help: string;
}
export type OptionSpecs = Readonly<Record<string, OptionSpec | FlagSpec>>;

type ValueOf<Spec> = Spec extends { choices: readonly (infer Choice)[] } ? Choice : string;
type OptionValues<Specs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends FlagSpec
    ? boolean
    : Specs[Name] extends { required: true } | { fallback: string }
      ? ValueOf<Specs[Name]>
      : ValueOf<Specs[Name]> | undefined;
};

/** What a command has to say: one JSON document, or the same for people to read. */
export interface CommandResult {
  readonly data: unknown;
  readonly text: string;
  /** True when the command did its work and found something wrong: exit 1. */
  readonly failed?: boolean;
}

/** One command of the operators' command line. It only parses and prints: features do the work. */
export interface AdminCommand {
  readonly name: string;
  readonly summary: string;
  /** What an operator has to know, below the options. */
  readonly notes?: string;
  readonly options: OptionSpecs;
  run(service: AdminService, values: never): Promise<CommandResult>;
}

/** Declares a command; the values that `run` gets have the types that its options declare. */
export function defineCommand<const Specs extends OptionSpecs>(
  command: Omit<AdminCommand, 'run' | 'options'> & {
    options: Specs;
    run(service: AdminService, values: OptionValues<Specs>): Promise<CommandResult>;
  },
): AdminCommand {
  return command;
}

/** Options that many commands share. */
export const MERCHANT = { value: 'ID', help: 'The merchant', required: true } as const;
export const ENVIRONMENT = {
  value: 'sandbox|production',
  help: 'The environment',
  choices: ['sandbox', 'production'],
  fallback: 'sandbox',
} as const;
export const ANY_MERCHANT = { value: 'ID', help: 'Only of this merchant' } as const;
export const ANY_ENVIRONMENT = {
  value: 'sandbox|production',
  help: 'Only of this environment',
  choices: ['sandbox', 'production'],
} as const;
export const ORDER = { value: 'N', help: 'The order number', required: true } as const;
export const YES = { flag: true, help: 'Do it without asking' } as const;
/** How many rows a list shows: {@link limitOf} reads it. */
export const LIMIT = { value: 'COUNT', help: 'At most so many', fallback: '50' } as const;

/** @throws UsageError */
export const limitOf = (text: string): number => countOf('limit', text);

/** @throws UsageError */
export function countOf(name: string, text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number from 1 to 9999`);
}

/** @throws UsageError */
export function timeOf(name: string, text: string): Date {
  const time = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime())) return time;
  throw new UsageError(`--${name} must be a time like 2026-11-20T08:00:00Z`);
}

/** What was typed behind a command's name. */
export interface ParsedArguments {
  values: Record<string, string | boolean | undefined>;
  json: boolean;
  help: boolean;
}

/** @throws UsageError in one line */
export function parseArguments(command: AdminCommand, args: readonly string[]): ParsedArguments {
  const { json = false, help = false, ...given } = parseTyped(command.options, args);
  if (help) return { values: {}, json: json === true, help: true };
  const values: ParsedArguments['values'] = {};
  for (const [name, spec] of Object.entries(command.options)) {
    if ('flag' in spec) {
      values[name] = given[name] === true;
      continue;
    }
    const value = typeof given[name] === 'string' ? given[name] : spec.fallback;
    if (value === undefined && spec.required) {
      throw new UsageError(`--${name} ${spec.value} is missing; see admin ${command.name} --help`);
    }
    if (value !== undefined && spec.choices?.includes(value) === false) {
      throw new UsageError(`--${name} must be ${spec.choices.join(' or ')}`);
    }
    values[name] = value;
  }
  return { values, json: json === true, help: false };
}

function parseTyped(specs: OptionSpecs, args: readonly string[]) {
  const named = Object.entries(specs).map(
    ([name, spec]) => [name, { type: 'flag' in spec ? 'boolean' : 'string' } as const] as const,
  );
  const options = {
    ...Object.fromEntries(named),
    json: { type: 'boolean' as const },
    help: { type: 'boolean' as const, short: 'h' },
  };
  try {
    return parseArgs({ args: [...args], options, strict: true }).values as Record<
      string,
      string | boolean | undefined
    >;
  } catch (error) {
    // Node's own words, up to the first full stop: what follows is advice in many lines.
    const words = (error as Error).message.split(/\.\s|\n/)[0] ?? '';
    const advice = words.endsWith('ambiguous') ? ': a value that begins with - goes behind =' : '';
    throw new UsageError(words + advice, { cause: error });
  }
}
