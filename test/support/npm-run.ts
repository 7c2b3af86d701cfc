import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readDevFacts, type DevFacts } from '../../dev/dev-facts.ts';
import { isRunning, processTree } from '../../dev/processes/process-table.ts';
import { HANGS_MS } from './time-limits.ts';

/** The repository's folder, in which a developer runs the commands. */
export const REPOSITORY = join(import.meta.dirname, '../..');

/** The variables of a terminal that matter here, and of the test run only what Node compiled. */
const TERMINAL = ['PATH', 'HOME', 'TMPDIR', 'NODE_COMPILE_CACHE'];

export type NpmRun = ReturnType<typeof runNpm>;

/**
 * Runs npm in a separate process group, as a terminal does; `npm start` makes no demo orders.
 *
 * @param settings the variables that are set in that terminal
 */
export function runNpm(args: readonly string[], settings: Record<string, string>) {
  const terminal = TERMINAL.map((name) => [name, process.env[name]]);
  const child = spawn('npm', args, {
    cwd: REPOSITORY,
    env: { ...Object.fromEntries(terminal), DEMO_ORDERS: 'off', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // A process group, so that a signal reaches all of it, as Ctrl-C does.
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const { pid } = child;
  if (pid === undefined) throw new Error('There is no npm on the PATH');
  /** How npm ended, once npm and everything that it ran have closed their output. */
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  return {
    pid,
    ended,
    pressCtrlC: () => void process.kill(-pid, 'SIGINT'),
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
    stdout: () => stdout,
    /** The lines that the command wrote to standard error, without npm's own. */
    errorLines: () => stderr.split('\n').filter((line) => line !== '' && !line.startsWith('npm ')),
    /** The ids of npm and all processes that currently run under it. */
    family: () => processTree(pid),
  };
}

/** Waits until `npm start` has printed the last line of its message that everything is ready. */
export async function untilReady(run: NpmRun, dataDir: string): Promise<DevFacts> {
  const isReady = () => /^curl .*\n/m.test(run.stdout());
  const deadline = Date.now() + HANGS_MS;
  while (!isReady() && isRunning(run.pid) && Date.now() < deadline) await delay(50);
  if (!isReady()) throw new Error(`npm start is not ready:\n${run.errorLines().join('\n')}`);
  return readDevFacts(dataDir);
}
