import { parseArgs } from 'node:util';

/** The command line is wrong: its message is all there is to print. */
export class UsageError extends Error {}

/**
 * Reads a command line.
 *
 * @param own the names of a benchmark's own options, each of which takes a value
 * @throws UsageError
 */
export function readOptions(args: readonly string[], own: readonly string[] = []) {
  const options = {
    ...Object.fromEntries(own.map((name) => [name, { type: 'string' as const }])),
    quick: { type: 'boolean' as const, default: false },
    help: { type: 'boolean' as const, short: 'h', default: false },
  };
  try {
    const { quick, help, ...values } = parseArgs({ args: [...args], options }).values;
    return { quick, help, values: values as Readonly<Record<string, string>> };
  } catch (error) {
    // Only the first sentence of Node's message: the rest is advice of several lines.
    const [problem] = (error as Error).message.split(/\.\s|\n/);
    throw new UsageError(`${problem}; see npm run bench -- --help`, { cause: error });
  }
}

/** The whole number that an option gives. @throws UsageError */
export function wholeNumber(name: string, text: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new UsageError(`--${name} accepts a whole number from ${least} on`);
}
