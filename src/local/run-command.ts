import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Guard } from './guard.ts';
import { sendSignal } from './process-table.ts';
import { exitOf, type ProcessExit } from './server-process.ts';

/** More output than this of one command is not worth keeping: the end says what went wrong. */
const KEPT_OUTPUT = 64 * 1024;

export interface CommandOptions {
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
  readonly exit: ProcessExit;
  /** Standard output and error as they came, or why it could not be started. */
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
  options: CommandOptions,
): Promise<CommandResult> {
  const { signal, guard, input = '', ...spawnOptions } = options;
  signal?.throwIfAborted();
  // A process group of its own: a build starts compilers, and they have to end with it.
  const child = spawn(file, args, { ...spawnOptions, detached: true });
  const exited = exitOf(child);
  let output = '';
  const keep = (text: string) => (output = (output + text).slice(-KEPT_OUTPUT));
  child.on('error', (error) => keep(error.message));
  child.stdout.setEncoding('utf8').on('data', keep);
  child.stderr.setEncoding('utf8').on('data', keep);
  child.stdin.on('error', () => undefined); // It may end without reading; its exit code counts.
  child.stdin.end(input);
  const { pid } = child;
  const kill = () => pid !== undefined && sendSignal(-pid, 'SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  if (pid !== undefined) guard?.watch(-pid, 'SIGKILL');
  const exit = await exited;
  if (pid !== undefined) guard?.forget(-pid);
  signal?.removeEventListener('abort', kill);
  signal?.throwIfAborted();
  return { succeeded: exit.code === 0, exit, output };
}

/** Whether the path names a file that may be executed. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Where the command is that a shell would run, or undefined. */
export function findOnPath(command: string, env: NodeJS.ProcessEnv): string | undefined {
  return (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, command))
    .find(isExecutable);
}

/** Says every ten seconds that the work goes on, so that nobody takes minutes of silence for a hang. */
export async function withProgress<T>(
  log: (line: string) => void,
  what: string,
  work: () => Promise<T>,
): Promise<T> {
  const startedAt = performance.now();
  log(`${what} …`);
  const timer = setInterval(() => {
    log(`${what} … ${Math.round((performance.now() - startedAt) / 1000)} s`);
  }, 10_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
