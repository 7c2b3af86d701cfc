import { execa } from 'execa';
import type { Guard } from './guard.ts';

/** What is kept of a command's output, in characters: its end says what went wrong. */
const KEPT_OUTPUT = 64 * 1024;

export interface CommandOptions {
  /** The whole environment: nothing of this process is added. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Written to its standard input, which is then closed. */
  readonly input?: string;
  /** Kills the command and all that it started. */
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
}

export interface CommandResult {
  readonly succeeded: boolean;
  /** The end of standard output and error as they came, or why it could not be started. */
  readonly output: string;
}

/**
 * Runs a command to its end. A failure is a result, not an error: the caller knows what to say.
 *
 * @throws the reason of `signal` when that aborts it.
 */
export async function runCommand(
  file: string,
  args: readonly string[],
  { signal, guard, ...options }: CommandOptions,
): Promise<CommandResult> {
  signal?.throwIfAborted();
  const child = execa(file, args, {
    input: '',
    ...options,
    extendEnv: false,
    all: true,
    reject: false,
    // A build starts compilers, and they have to end with it.
    killDescendants: true,
    killSignal: 'SIGKILL',
    ...(signal && { cancelSignal: signal }),
  });
  const { pid } = child;
  if (pid !== undefined) guard?.watch(-pid, 'SIGKILL');
  const result = await child;
  if (pid !== undefined) guard?.forget(-pid);
  signal?.throwIfAborted();
  const output = result.all || (result.shortMessage ?? '');
  return { succeeded: !result.failed, output: output.slice(-KEPT_OUTPUT) };
}
