import type { ChildProcess } from 'node:child_process';

/** How a process ended: one of the two is set. */
export interface ProcessExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Resolves when a child has ended or could not be started. */
export function exitOf(child: ChildProcess): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
}

/** "exit code 1" or "killed by SIGKILL", for messages. */
export function describeExit({ code, signal }: ProcessExit): string {
  return signal === null ? `exit code ${code ?? 'unknown'}` : `killed by ${signal}`;
}
