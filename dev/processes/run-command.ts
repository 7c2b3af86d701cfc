import { execa } from 'execa';
import type { Guard } from './guard.ts';

/** The end of a command's output has the cause of a failure. */
const MAX_OUTPUT_CHARACTERS = 64 * 1024;

/** How to run a command. */
export interface CommandOptions {
  /** The whole environment: nothing is inherited. */
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  /** Written to its standard input, which is then closed. */
  readonly input?: string;
  /** Kills the command and its descendants. */
  readonly signal?: AbortSignal | undefined;
  readonly guard?: Guard | undefined;
}

/** The result of a command that has ended or could not be started. */
export interface CommandResult {
  readonly succeeded: boolean;
  /** The end of standard output and error, interleaved, or why it could not be started. */
  readonly output: string;
}

/**
 * Runs a command to its end. A failure is a result, not an exception.
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
    // A build starts compilers, which must end with it.
    killDescendants: true,
    killSignal: 'SIGKILL',
    ...(signal && { cancelSignal: signal }),
  });
  const { pid } = child;
  if (pid !== undefined) guard?.watch(-pid, 'SIGKILL');
  const result = await child;
  if (pid !== undefined) guard?.unwatch(-pid);
  signal?.throwIfAborted();
  const output = result.all || (result.shortMessage ?? '');
  return { succeeded: !result.failed, output: output.slice(-MAX_OUTPUT_CHARACTERS) };
}
