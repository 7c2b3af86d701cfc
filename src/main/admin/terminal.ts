import { createInterface } from 'node:readline/promises';

/** The operator did not confirm; nothing was changed. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmedError';
}

/** An interactive terminal. */
export interface Terminal {
  /**
   * Prints a question and reads a line.
   *
   * @returns the line; '' if the input ended
   */
  ask(question: string): Promise<string>;
}

/**
 * The terminal of this process; undefined if standard input or standard error is not a terminal.
 */
export function processTerminal(): Terminal | undefined {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return undefined;
  return {
    async ask(question) {
      // The question goes to standard error: standard output is the command's result.
      const lines = createInterface({ input, output });
      const ended = new Promise<''>((resolve) => lines.once('close', () => resolve('')));
      try {
        return await Promise.race([lines.question(question), ended]);
      } finally {
        lines.close();
      }
    },
  };
}

/**
 * Shows the consequences of a command and asks for confirmation. Without a terminal it does
 * nothing.
 *
 * @param describe returns the consequences as text
 * @throws NotConfirmedError unless the operator answers yes
 */
export async function confirm(
  terminal: Terminal | undefined,
  describe: () => Promise<string>,
): Promise<void> {
  if (!terminal) return;
  const answer = await terminal.ask(`${await describe()}\n\nContinue? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new NotConfirmedError('Nothing was done');
}
