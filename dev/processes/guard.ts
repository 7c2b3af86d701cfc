import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { exitOf } from './process-exit.ts';

/** The path of the guard's script. */
export const GUARD_SCRIPT = join(import.meta.dirname, 'guard.sh');

/**
 * Starts a separate process that stops our child processes if this process is killed. This process cannot
 * run code after a `kill -9`, but the guard's standard input closes when this process ends in any way.
 *
 * @param folders temporary data to remove after the processes have ended.
 */
export async function startGuard(folders: readonly string[] = []) {
  const child = spawn('sh', [GUARD_SCRIPT, ...folders], {
    detached: true, // A Ctrl-C in the terminal signals its process group, without the guard.
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  const exited = exitOf(child);
  await once(child, 'spawn');
  child.stdin.on('error', () => undefined); // When the guard has ended, `exited` resolves.
  const targets = new Map<number, string>();
  const sendTargets = () => {
    child.stdin.write(`${[...targets].map(([pid, signal]) => `${signal}:${pid}`).join(' ')}\n`);
  };
  return {
    /** Resolves when the guard ends, which only `release` should cause. */
    exited,
    pid: child.pid ?? 0,
    /** Adds a process and the signal that stops it; a negative id means a process group. */
    watch(pid: number, signal: NodeJS.Signals): void {
      targets.set(pid, signal.replace(/^SIG/, ''));
      sendTargets();
    },
    /** Removes a process that has ended. */
    unwatch(pid: number): void {
      if (targets.delete(pid)) sendTargets();
    },
    /** Ends the guard after a normal shutdown. */
    async release(): Promise<void> {
      child.stdin.end('done\n');
      await exited;
    },
  };
}

/** See {@link startGuard}. */
export type Guard = Awaited<ReturnType<typeof startGuard>>;
