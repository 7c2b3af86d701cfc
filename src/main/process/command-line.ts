import { parseArgs } from 'node:util';

/** An option of a command: how its text is read, its value if it is not given, and what it is for. */
export interface CommandOption<Value> {
  readonly type: 'string' | 'boolean';
  readonly fallback: Value;
  readonly does: string;
  /** @returns undefined if the text is not a value of this option */
  readonly read: (given: string | boolean) => Value | undefined;
  /** What it accepts, in the message about a wrong value. */
  readonly accepts: string;
}

/** A whole number from `least` on. */
export function countOption<Fallback extends number | undefined>(
  fallback: Fallback,
  does: string,
  least = 1,
): CommandOption<number | Fallback> {
  const read = (given: string | boolean) => {
    const value = Number(given);
    return Number.isSafeInteger(value) && value >= least ? value : undefined;
  };
  return { type: 'string', fallback, does, read, accepts: `a whole number from ${least} on` };
}

/** A path or another text. */
export function textOption(does: string): CommandOption<string | undefined> {
  return { type: 'string', fallback: undefined, does, read: String, accepts: 'a text' };
}

/** An option without a value. */
export function flagOption(does: string): CommandOption<boolean> {
  return { type: 'boolean', fallback: false, does, read: Boolean, accepts: 'nothing' };
}

/** A command of package.json or of the image. */
export interface CommandLine<Options> {
  /** As it is typed, such as `npm run chaos`. */
  readonly usage: string;
  /** One or more sentences. */
  readonly does: string;
  readonly options?: Options;
  /** What follows the options, such as `[DRILL ...]`; without it nothing may follow. */
  readonly operands?: string;
}

/** The options of a command, by name. */
export type CommandOptions = Readonly<Record<string, CommandOption<unknown>>>;

/** The values of a command's options. */
export type ValuesOf<Options> = {
  readonly [Name in keyof Options]: Options[Name] extends CommandOption<infer Value>
    ? Value
    : never;
};

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
  const args = given.filter((arg) => !arg.startsWith(MARK));
  if (args.includes('--help') || args.includes('-h')) {
    process.stdout.write(helpOf(command));
    process.exit(0);
  }
  try {
    return parse(command, args);
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split('. ');
    refuseCommandLine(command.usage, `${sentence}; --help lists the options`);
  }
}

/** Says in one line what is wrong with the arguments of this process, and ends it with 2. */
export function refuseCommandLine(usage: string, problem: string): never {
  process.stderr.write(`${usage}: ${problem}\n`);
  process.exit(2);
}

function parse<Options extends CommandOptions>(
  { options, operands }: CommandLine<Options>,
  args: string[],
) {
  const declared = Object.entries(options ?? {});
  const { values: given, positionals } = parseArgs({
    args,
    options: Object.fromEntries(declared.map(([name, { type }]) => [name, { type }])),
    allowPositionals: operands !== undefined,
  });
  const values = declared.map(([name, { fallback, read, accepts }]) => {
    const argument = given[name];
    if (argument === undefined) return [name, fallback];
    const value = read(argument);
    if (value === undefined) throw new Error(`--${name} accepts ${accepts}`);
    return [name, value];
  });
  return { values: Object.fromEntries(values) as ValuesOf<Options>, operands: positionals };
}

/** A line for each option, as the help has it. */
export function optionLines(options: CommandOptions): string[] {
  return Object.entries(options).map(([name, { type, fallback, does }]) => {
    const byDefault = typeof fallback === 'number' ? ` (${fallback})` : '';
    return `  --${type === 'string' ? `${name} …` : name}`.padEnd(18) + ` ${does}${byDefault}`;
  });
}

function helpOf({ usage, does, options = {}, operands }: CommandLine<CommandOptions>): string {
  const lines = optionLines(options);
  const head = [usage, ...(usage.startsWith('npm') && !usage.includes(' -- ') ? ['--'] : [])];
  const call = [
    ...head,
    ...(lines.length > 0 ? ['[options]'] : []),
    ...(operands ? [operands] : []),
  ];
  const shown = call.at(-1) === '--' ? usage : call.join(' ');
  return `${[shown, '', does, ...(lines.length > 0 ? ['', ...lines] : [])].join('\n')}\n`;
}
