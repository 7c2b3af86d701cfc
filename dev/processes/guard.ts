import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { exitOf, type ProcessExit } from './server-process.ts';

/** A small process of its own that ends our children should this process be killed. */
export interface Guard {
  /** Ends when the guard does, which nobody but {@link Guard.release} should cause. */
  readonly exited: Promise<ProcessExit>;
  readonly pid: number;
  /** Names a process to stop, and the signal that asks it to; a negative id means its group. */
  watch(pid: number, signal: NodeJS.Signals): void;
  forget(pid: number): void;
  /** Lets the guard go: everything was stopped in good order. */
  release(): Promise<void>;
}

/**
 * Starts the guard. Nothing in this process can run after a `kill -9`; the guard sees its standard
 * input close instead, whatever the reason.
 *
 * @param folders removed after the processes have ended, for throw-away data.
 */
export async function startGuard(folders: readonly string[] = []): Promise<Guard> {
  const child = spawn('sh', [join(import.meta.dirname, 'guard.sh'), ...folders], {
    detached: true, // A Ctrl-C reaches the terminal's whole process group: not this one.
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd: '/',
  });
  const exited = exitOf(child);
  await once(child, 'spawn');
  child.stdin.on('error', () => undefined); // The guard is gone: `exited` tells.
  const targets = new Map<number, string>();
  const tell = () => {
    child.stdin.write(`${[...targets].map(([pid, signal]) => `${signal}:${pid}`).join(' ')}\n`);
  };
  return {
    exited,
    pid: child.pid ?? 0,
    watch(pid, signal) {
      targets.set(pid, signal.replace(/^SIG/, ''));
      tell();
    },
    forget(pid) {
      if (targets.delete(pid)) tell();
    },
    async release() {
      child.stdin.end('done\n');
      await exited;
    },
  };
}
