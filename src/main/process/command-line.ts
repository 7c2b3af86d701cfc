import { parseArgs } from 'node:util';

/** The arguments are invalid. The message is one line for the person who typed them. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** How the text of an option is read. */
interface Reader<Value> {
  /** @returns undefined if the text is not such a value */
  readonly read: (text: string) => Value | undefined;
  /** What it accepts, in the message about a wrong value. */
  readonly accepts: string;
}

/** An option that takes a value: a text, if it has neither choices nor a reader. */
interface ValueOption {
  /** The placeholder of the value in the help; the choices if absent. */
  readonly value?: string;
  readonly help: string;
  readonly required?: true;
  readonly choices?: readonly string[];
  readonly as?: Reader<unknown>;
  /** The value if the option is absent. */
  readonly fallback?: string | number | undefined;
}

/** An option without a value. */
interface FlagOption {
  readonly flag: true;
  readonly help: string;
}

/** The options of a command, by name. */
export type CommandOptions = Readonly<Record<string, ValueOption | FlagOption>>;

type ReadOf<Option> = Option extends { as: Reader<infer Value> }
  ? Value
  : Option extends { choices: readonly (infer Choice)[] }
    ? Choice
    : string;

type ValueOf<Option> = Option extends FlagOption
  ? boolean
  : Option extends { required: true }
    ? ReadOf<Option>
    : ReadOf<Option> | (Option extends { fallback: infer Value } ? Value : undefined);

/** The values of a command's options. */
export type ValuesOf<Options> = { readonly [Name in keyof Options]: ValueOf<Options[Name]> };

/** Reads a whole number. */
export function wholeNumber(least: number, most?: number): Reader<number> {
  const read = (text: string) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= least && value <= (most ?? value) ? value : undefined;
  };
  return { read, accepts: `a whole number from ${least} ${most ? `to ${most}` : 'on'}` };
}

/** Reads an ISO-8601 time. */
export const TIME: Reader<Date> = {
  read(text) {
    const time = new Date(text);
    const isTime = /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(time.getTime());
    return isTime ? time : undefined;
  },
  accepts: 'a time like 2026-11-20T08:00:00Z',
};

/** A whole number from `least` on. */
export const countOption = <Fallback extends number | undefined>(
  fallback: Fallback,
  help: string,
  least = 1,
) => ({ value: 'COUNT', help, as: wholeNumber(least), fallback });

/** A path or another text. */
export const textOption = (help: string) => ({ value: 'TEXT', help });

/** An option without a value. */
export const flagOption = (help: string) => ({ flag: true, help }) as const;

/** Whether the help is asked for. */
export const asksForHelp = (args: readonly string[]): boolean =>
  args.includes('--help') || args.includes('-h');

/**
 * Parses the arguments behind a command.
 *
 * @param operands whether words may follow the options
 * @throws UsageError
 */
export function parseArguments<Options extends CommandOptions>(
  options: Options,
  args: readonly string[],
  operands = false,
): { values: ValuesOf<Options>; operands: string[] } {
  const declared = Object.entries(options);
  const types = declared.map(
    ([name, option]) => [name, { type: 'flag' in option ? 'boolean' : 'string' } as const] as const,
  );
  try {
    const { values: given, positionals } = parseArgs({
      args: [...args],
      options: Object.fromEntries(types),
      allowPositionals: operands,
    });
    const values = declared.map(([name, option]) => [name, valueOf(name, option, given[name])]);
    return { values: Object.fromEntries(values) as ValuesOf<Options>, operands: positionals };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // Only the first sentence of Node's message: the rest is advice of several lines.
    const problem = (error as Error).message.split(/\.\s|\n/)[0] ?? '';
    const isDash = problem.endsWith('ambiguous');
    const advice = isDash ? ': write a value that begins with - after =' : '';
    throw new UsageError(problem + advice, { cause: error });
  }
}

/** @throws UsageError */
function valueOf(
  name: string,
  option: ValueOption | FlagOption,
  given: string | boolean | undefined,
): unknown {
  if ('flag' in option) return given === true;
  const { required, choices, as, fallback } = option;
  if (typeof given !== 'string') {
    if (required) throw new UsageError(`--${name} ${placeholderOf(option)} is missing`);
    return fallback;
  }
  const value = as ? as.read(given) : given;
  if (value !== undefined && choices?.includes(given) !== false) return value;
  throw new UsageError(`--${name} must be ${as?.accepts ?? choices?.join(' or ')}`);
}

const placeholderOf = ({ value, choices = [] }: ValueOption) => value ?? choices.join('|');

/** A line for each option, as the help has it. */
export function optionLines(options: CommandOptions): string[] {
  const rows = Object.entries(options).map(([name, option]) => {
    if ('flag' in option) return [`--${name}`, option.help] as const;
    const { help, required, fallback } = option;
    const remark = required
      ? ' (required)'
      : fallback === undefined
        ? ''
        : ` (default ${fallback})`;
    return [`--${name} ${placeholderOf(option)}`, help + remark] as const;
  });
  const width = Math.max(...rows.map(([option]) => option.length));
  return rows.map(([option, help]) => `  ${option.padEnd(width)}  ${help}`);
}

/** A command of package.json or of the image. */
export interface CommandLine<Options> {
  /** As it is typed, such as `npm run chaos`. */
  readonly usage: string;
  /** One or more sentences. */
  readonly does: string;
  readonly options?: Options;
  /** What follows the options, such as `[DRILL ...]`; without it nothing may follow. */
  readonly operands?: string | undefined;
  /** A paragraph below the options. */
  readonly notes?: string | undefined;
}

/** The help of a command. */
export function helpOf(command: CommandLine<CommandOptions>): string {
  const { usage, does, options = {}, operands, notes } = command;
  const lines = optionLines(options);
  const behind = [lines.length > 0 ? '[options]' : '', operands ?? ''].filter(Boolean);
  // npm itself reads the options before this mark.
  const mark =
    behind.length > 0 && usage.startsWith('npm') && !usage.includes(' -- ') ? ['--'] : [];
  const call = ['Usage:', usage, ...mark, ...behind].join(' ');
  return [call, does, lines.join('\n'), notes].filter(Boolean).join('\n\n');
}

/** `npm start` marks the processes that it starts with this option, to find them after a kill. */
const MARK = '--run-of=';

/**
 * Reads the arguments of this process. `--help` prints what the command does and exits with 0; a wrong
 * argument prints one line and exits with 2.
 *
 * @param given the arguments behind the command, if the command is more than the program
 */
export function readCommandLine<Options extends CommandOptions>(
  command: CommandLine<Options>,
  given = process.argv.slice(2),
): { values: ValuesOf<Options>; operands: string[] } {
  const { usage, options = {} as Options, operands } = command;
  const args = given.filter((arg) => !arg.startsWith(MARK));
  if (asksForHelp(args)) {
    process.stdout.write(`${helpOf(command)}\n`);
    process.exit(0);
  }
  try {
    return parseArguments(options, args, operands !== undefined);
  } catch (error) {
    refuseCommandLine(usage, `${(error as Error).message}; --help lists the options`);
  }
}

/** Says in one line what is wrong with the arguments of this process, and ends it with 2. */
export function refuseCommandLine(usage: string, problem: string): never {
  process.stderr.write(`${usage}: ${problem}\n`);
  process.exit(2);
}
