import { ENVIRONMENTS } from '../../domain/index.ts';
import type { CommandOptions, ValuesOf } from '../process/command-line.ts';
import { flagOption, helpOf, wholeNumber } from '../process/command-line.ts';
import type { AdminProgram, AdminService } from './service.ts';

/** The output of a command: a JSON document, and the same as text. */
export interface CommandResult {
  readonly data: object;
  /** The single values of the document, one in a line, if absent. */
  readonly text?: string;
  /** True if the command completed and found a problem: exit code 1. */
  readonly failed?: boolean;
}

/** One command of the admin command line. It parses and prints; the features do the work. */
export interface AdminCommand {
  readonly name: string;
  readonly summary: string;
  /** A paragraph below the options in the help. */
  readonly notes?: string;
  readonly options: CommandOptions;
  run(service: AdminService, values: never): Promise<CommandResult>;
}

/** Declares a command. TypeScript infers the types of `run`'s values from the options. */
export function defineCommand<const Options extends CommandOptions>(
  command: Omit<AdminCommand, 'run' | 'options'> & {
    options: Options;
    run(service: AdminService, values: ValuesOf<Options>): Promise<CommandResult>;
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
export const YES = flagOption('Do not ask for confirmation');
/** Reads the number of rows of a list, and other counts. */
export const COUNT = wholeNumber(1, 9999);
/** The maximum number of rows of a list. */
export const LIMIT = {
  value: 'COUNT',
  help: 'At most this many rows',
  as: COUNT,
  fallback: 50,
} as const;
/** The reason of an action, for the audit log. */
export const REASON = { value: 'TEXT', help: 'Why, for the audit log', required: true } as const;

/** What every command has beside its own options. */
export const JSON_OPTION = { json: flagOption('Print one JSON document') } as const;

/** The program of the image, which has no npm. */
export const IMAGE_PROGRAM: AdminProgram = {
  call: 'node src/main/admin.ts',
  uses: "The commands use the service of this process's environment: docs/settings.md.",
};

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
  const all = { ...options, ...JSON_OPTION };
  return helpOf({ usage: `${call} ${name}`, does: `${summary}.`, options: all, notes });
}
