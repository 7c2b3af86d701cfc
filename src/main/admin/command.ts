import { parseArgs } from 'node:util';
import { ENVIRONMENTS } from '../../domain/index.ts';
import type { AdminService } from './service.ts';

/** The arguments are invalid. The message is one line for the operator. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An option that takes a value. */
export interface OptionSpec {
  /** The placeholder of the value in the help; the choices if absent. */
  readonly value?: string;
  readonly help: string;
  readonly required?: true;
  readonly choices?: readonly string[];
  /** The value if the option is absent. */
  readonly fallback?: string;
}
/** An option without a value. */
export interface FlagSpec {
  readonly flag: true;
  readonly help: string;
}
/** The options of a command, by name. */
export type OptionSpecs = Readonly<Record<string, OptionSpec | FlagSpec>>;

type ValueOf<Spec> = Spec extends { choices: readonly (infer Choice)[] } ? Choice : string;
type OptionValues<Specs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends FlagSpec
    ? boolean
    : Specs[Name] extends { required: true } | { fallback: string }
      ? ValueOf<Specs[Name]>
      : ValueOf<Specs[Name]> | undefined;
};

/** The output of a command: a JSON document, and the same as text. */
export interface CommandResult {
  readonly data: unknown;
  readonly text: string;
  /** True if the command completed and found a problem: exit code 1. */
  readonly failed?: boolean;
}

/** One command of the admin command line. It parses and prints; the features do the work. */
export interface AdminCommand {
  readonly name: string;
  readonly summary: string;
  /** A paragraph below the options in the help. */
  readonly notes?: string;
  readonly options: OptionSpecs;
  run(service: AdminService, values: never): Promise<CommandResult>;
}

/** Declares a command. TypeScript infers the types of `run`'s values from the options. */
export function defineCommand<const Specs extends OptionSpecs>(
  command: Omit<AdminCommand, 'run' | 'options'> & {
    options: Specs;
    run(service: AdminService, values: OptionValues<Specs>): Promise<CommandResult>;
  },
): AdminCommand {
  return command;
}

/** The merchant that a command is about. */
export const MERCHANT = { value: 'ID', help: 'The merchant', required: true } as const;
/** The environment that a command is about; the sandbox if absent. */
export const ENVIRONMENT = {
  help: 'The environment',
  choices: ENVIRONMENTS,
  fallback: 'sandbox',
} as const;
/** Filters a list by merchant. */
export const ANY_MERCHANT = { value: 'ID', help: 'Only of this merchant' } as const;
/** Filters a list by environment. */
export const ANY_ENVIRONMENT = { help: 'Only of this environment', choices: ENVIRONMENTS } as const;
/** The order that a command is about. */
export const ORDER = { value: 'N', help: 'The order number', required: true } as const;
/** Skips the confirmation of a command that moves money. */
export const YES = { flag: true, help: 'Do not ask for confirmation' } as const;
/** The maximum number of rows of a list; {@link limitOf} parses it. */
export const LIMIT = { value: 'COUNT', help: 'At most this many rows', fallback: '50' } as const;

/** The reason of an action, for the audit log. */
export const REASON = { value: 'TEXT', help: 'Why, for the audit log', required: true } as const;

/** Parses --limit. @throws UsageError */
export const limitOf = (text: string): number => countOf('limit', text);

/** Parses an option that is an integer from 1 to 9999. @throws UsageError */
export function countOf(name: string, text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a whole number from 1 to 9999`);
}

/** Parses an option that is an ISO-8601 time. @throws UsageError */
export function timeOf(name: string, text: string): Date {
  const time = new Date(text);
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime())) return time;
  throw new UsageError(`--${name} must be a time like 2026-11-20T08:00:00Z`);
}

/** The parsed arguments of a command. */
export interface ParsedArguments {
  values: Record<string, string | boolean | undefined>;
  json: boolean;
  help: boolean;
}

/** Parses the arguments behind a command's name. @throws UsageError */
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
      throw new UsageError(`--${name} ${placeholderOf(spec)} is missing`);
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
    // Only the first sentence of Node's message: the rest is advice of several lines.
    const problem = (error as Error).message.split(/\.\s|\n/)[0] ?? '';
    const advice = problem.endsWith('ambiguous')
      ? ': write a value that begins with - after ='
      : '';
    throw new UsageError(problem + advice, { cause: error });
  }
}

/** How the command line is called here, which the help says. */
export interface AdminProgram {
  /** What is typed before the command. */
  readonly call: string;
  /** Which service the commands use, as a sentence. */
  readonly uses: string;
}

/** The program of the image, which has no npm. */
export const IMAGE_PROGRAM: AdminProgram = {
  call: 'node src/main/admin.ts',
  uses: "The commands use the service of this process's environment: docs/settings.md.",
};

const placeholderOf = ({ value, choices = [] }: OptionSpec) => value ?? choices.join('|');

/** The help of commands that belong together: their name, and one line for each command. */
export function helpOfAll(
  groups: Readonly<Record<string, readonly AdminCommand[]>>,
  { call, uses }: AdminProgram,
): string {
  const names = Object.values(groups).flatMap((group) => group.map(({ name }) => name.length));
  const width = Math.max(...names);
  const lines = Object.entries(groups).flatMap(([title, group]) => [
    title,
    ...group.map(({ name, summary }) => `  ${name.padEnd(width)}  ${summary}`),
  ]);
  return `Usage: ${call} <command> [options]

${lines.join('\n')}

<command> --help lists its options; --json prints one JSON document.
${uses}`;
}

/** The help of one command. */
export function helpOfOne(
  { name, summary, notes, options }: AdminCommand,
  { call }: AdminProgram,
): string {
  const entries = Object.entries(options).map(([option, spec]) => {
    if ('flag' in spec) return [`--${option}`, spec.help] as const;
    const { help, required, fallback } = spec;
    return [
      `--${option} ${placeholderOf(spec)}`,
      required ? `${help} (required)` : fallback ? `${help} (default ${fallback})` : help,
    ] as const;
  });
  const rows = [...entries, ['--json', 'Print one JSON document'] as const];
  const width = Math.max(...rows.map(([option]) => option.length));
  const lines = rows.map(([option, help]) => `  ${option.padEnd(width)}  ${help}`);
  const usage = `Usage: ${call} ${name} [options]`;
  return [usage, '', `${summary}.`, '', ...lines, ...(notes ? ['', notes] : [])].join('\n');
}
