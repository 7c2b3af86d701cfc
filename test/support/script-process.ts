import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';

/** The URL of a module of this repository, for a script to import. */
export function moduleUrl(path: string): string {
  return `file://${join(import.meta.dirname, '../..', path)}`;
}

/** A separate process that runs a script; killed after the test if it still runs. */
export interface ScriptProcess {
  readonly pid: number;
  /** The next line that the script writes. */
  nextLine(): Promise<string>;
  kill(): Promise<void>;
}

/** Runs an ES module given as text. A test about killed processes needs a process to kill. */
export function runScript(script: string): ScriptProcess {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const kill = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  onTestFinished(kill);
  return {
    pid: child.pid ?? 0,
    kill,
    async nextLine() {
      const line = await lines.next();
      if (line.done === true) throw new Error('The script ended');
      return line.value;
    },
  };
}
