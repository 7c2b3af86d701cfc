import { ENVIRONMENTS } from '../../domain/index.ts';
import type { CommandOptions, ValuesOf } from '../process/command-line.ts';
import { flagOption, wholeNumber } from '../process/command-line.ts';
import type { AdminService } from './service.ts';

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
  readonly summary: string;
  /** A paragraph below the options in the help. */
  readonly notes?: string;
  readonly options: CommandOptions;
  run(service: AdminService, values: never): Promise<CommandResult>;
}

/** Commands by what is typed, such as `order show`. */
export type AdminCommands = Readonly<Record<string, AdminCommand>>;

/** Declares a command: TypeScript infers the types of `run`'s values from the options. */
export function defineCommand<const Options extends CommandOptions>(
  command: Omit<AdminCommand, 'run' | 'options'> & {
    options: Options;
    run(service: AdminService, values: ValuesOf<Options>): Promise<CommandResult>;
  },
): AdminCommand {
  return command;
}

// Options that several commands have.

export const MERCHANT = { value: 'ID', help: 'The merchant', required: true } as const;
export const ENVIRONMENT = {
  help: 'The environment',
  choices: ENVIRONMENTS,
  fallback: 'sandbox',
} as const;
export const ANY_MERCHANT = { value: 'ID', help: 'Only of this merchant' } as const;
export const ANY_ENVIRONMENT = { help: 'Only of this environment', choices: ENVIRONMENTS } as const;
export const ORDER = { value: 'N', help: 'The order number', required: true } as const;
export const YES = flagOption('Do not ask for confirmation');
export const COUNT = wholeNumber(1, 9999);
export const LIMIT = { value: 'COUNT', help: 'At most this many rows', as: COUNT, fallback: 50 };
export const REASON = { value: 'TEXT', help: 'Why, for the audit log', required: true } as const;
