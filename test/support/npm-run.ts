import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readDevFacts, type DevFacts } from '../../dev/dev-facts.ts';
import { freePort } from '../../dev/processes/ports.ts';
import { describeProcess, findProcesses, isRunning } from '../../dev/processes/process-table.ts';

/** The repository: where a newcomer types the commands. */
export const REPOSITORY = join(import.meta.dirname, '../..');

const READY_TIMEOUT_MS = 110_000;

/** What a terminal brings along that matters here; of the test run itself, nothing. */
const TERMINAL = ['PATH', 'HOME', 'TMPDIR', 'XDG_CACHE_HOME', 'TEMPORAL_PROGRAMS_DIR'];

const PORT_SETTINGS = [
  'PORT',
  'TEMPORAL_PORT',
  'TEMPORAL_UI_PORT',
  'POSTGRES_PORT',
  'GATEWAY_SIMULATOR_PORT',
] as const;

type PortSettings = Record<(typeof PORT_SETTINGS)[number], string>;

/** Settings that move every port to one that nobody uses. */
export async function freePorts(): Promise<PortSettings> {
  const ports = new Set<number>();
  while (ports.size < PORT_SETTINGS.length) ports.add(await freePort());
  const settings = [...ports].map((port, index) => [PORT_SETTINGS[index], String(port)]);
  return Object.fromEntries(settings) as PortSettings;
}

/** A process with everything that it started, and what those did: each by its id. */
function withDescendants(pid: number): number[] {
  const parents = new Map(findProcesses().map((id) => [id, describeProcess(id)?.parentPid]));
  const family = new Set([pid]);
  for (const member of family) {
    for (const [id, parentPid] of parents) if (parentPid === member) family.add(id);
  }
  return [...family];
}

/** A command of npm as somebody typed it. */
export type NpmRun = ReturnType<typeof runNpm>;

/**
 * Runs npm in a terminal of its own.
 *
 * @param settings all that is set in that terminal
 */
export function runNpm(args: readonly string[], settings: Record<string, string>) {
  const terminal = TERMINAL.map((name) => [name, process.env[name]]);
  const child = spawn('npm', args, {
    cwd: REPOSITORY,
    env: { ...Object.fromEntries(terminal), ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // What a terminal is to them: a process group that Ctrl-C reaches as a whole.
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const { pid } = child;
  if (pid === undefined) throw new Error('There is no npm on the PATH');
  /** How npm ended, once nobody can write to its terminal any more: not even what it ran. */
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
    /** npm and all that runs under it at this moment. */
    family: () => withDescendants(pid),
  };
}

/** Waits until `npm start` has said the last line of what it says when all is ready. */
export async function untilReady(run: NpmRun, dataDir: string): Promise<DevFacts> {
  const isReady = () => /^curl .*\n/m.test(run.stdout());
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!isReady() && isRunning(run.pid) && Date.now() < deadline) await delay(50);
  if (!isReady()) throw new Error(`npm start is not ready:\n${run.errorLines().join('\n')}`);
  return readDevFacts(dataDir);
}
