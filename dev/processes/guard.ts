import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { exitOf, type ProcessExit } from './process-exit.ts';

/** A separate process that stops our child processes if this process is killed. */
export interface Guard {
  /** Resolves when the guard ends, which only {@link Guard.release} should cause. */
  readonly exited: Promise<ProcessExit>;
  readonly pid: number;
  /** Adds a process and the signal that stops it; a negative id means a process group. */
  watch(pid: number, signal: NodeJS.Signals): void;
  /** Removes a process that has ended. */
  unwatch(pid: number): void;
  /** Ends the guard after a normal shutdown. */
  release(): Promise<void>;
}

/**
 * Starts the guard. This process cannot run code after a `kill -9`, but the guard's standard input
 * closes when this process ends in any way.
 *
 * @param folders temporary data to remove after the processes have ended.
 */
export async function startGuard(folders: readonly string[] = []): Promise<Guard> {
  const child = spawn('sh', [join(import.meta.dirname, 'guard.sh'), ...folders], {
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
    exited,
    pid: child.pid ?? 0,
    watch(pid, signal) {
      targets.set(pid, signal.replace(/^SIG/, ''));
      sendTargets();
    },
    unwatch(pid) {
      if (targets.delete(pid)) sendTargets();
    },
    async release() {
      child.stdin.end('done\n');
      await exited;
    },
  };
}
