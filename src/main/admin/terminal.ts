import { createInterface } from 'node:readline/promises';

/** Asked whether to go on, somebody said no: nothing has been done. */
export class NotConfirmedError extends Error {
  override readonly name = 'NotConfirmedError';
}

/** Somebody who can be asked. */
export interface Terminal {
  /** @returns what was typed; '' when the input ended instead */
  ask(question: string): Promise<string>;
}

/** The terminal of this process, if there is one at both ends: a script is asked nothing. */
export function processTerminal(): Terminal | undefined {
  const { stdin: input, stderr: output } = process;
  if (!input.isTTY || !output.isTTY) return undefined;
  return {
    async ask(question) {
      // Standard output is the command's answer.
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
 * Shows what is about to happen, and goes on only after a yes. Without a terminal nobody is asked.
 *
 * @throws NotConfirmedError when the answer is anything else
 */
export async function confirm(
  terminal: Terminal | undefined,
  describe: () => Promise<string>,
): Promise<void> {
  if (!terminal) return;
  const answer = await terminal.ask(`${await describe()}\n\nGo on? [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new NotConfirmedError('Nothing was done');
}
