import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Linux tells everything in /proc, also where `ps` is not installed; elsewhere `ps` is asked. */
const PROC = '/proc';
const HAS_PROC = existsSync(`${PROC}/self/stat`);

interface RunningProcess {
  readonly pid: number;
  readonly parentPid: number;
  /** The arguments, each between two separators: NUL from /proc, a blank from `ps`. */
  readonly commandLine: string;
  readonly separator: string;
}

/** One signal of a shutdown and how long the process may take to obey it. */
export interface StopStep {
  readonly signal: NodeJS.Signals;
  readonly waitMs: number;
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`${PROC}/${pid}/${file}`, 'utf8');
  } catch {
    return undefined; // It ended between the listing and this read.
  }
}

/** State letter and parent of a process: the fields after the name, which may hold blanks and `)`. */
function procStat(pid: number): { state: string; parentPid: number } | undefined {
  const stat = readProc(pid, 'stat');
  const [state, parentPid] = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return state === undefined ? undefined : { state, parentPid: Number(parentPid) };
}

function processFromProc(pid: number): RunningProcess | undefined {
  const commandLine = readProc(pid, 'cmdline');
  const stat = procStat(pid);
  if (commandLine === undefined || commandLine === '' || stat === undefined) return undefined;
  const { parentPid } = stat;
  return { pid, parentPid, commandLine: `\0${commandLine}`, separator: '\0' };
}

function processFromPs(line: string): RunningProcess | undefined {
  const match = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line);
  if (match === null) return undefined;
  const [, pid, parentPid, command] = match;
  return {
    pid: Number(pid),
    parentPid: Number(parentPid),
    commandLine: ` ${command} `,
    separator: ' ',
  };
}

function listProcesses(): RunningProcess[] {
  const found = HAS_PROC
    ? readdirSync(PROC)
        .filter((name) => /^\d+$/.test(name))
        .map((name) => processFromProc(Number(name)))
    : execFileSync('ps', ['-axww', '-o', 'pid=,ppid=,command='], { encoding: 'utf8' })
        .split('\n')
        .map(processFromPs);
  return found.filter((running) => running !== undefined);
}

/**
 * The processes whose command line holds every one of these arguments, word for word.
 *
 * Each server and part of a run carries its data directory as an argument: that is how the next
 * run knows its orphans, with no pid file that could be stale or name somebody else's process.
 */
export function findProcesses(...wantedArguments: string[]): number[] {
  return listProcesses()
    .filter(({ pid }) => pid !== process.pid)
    .filter(({ commandLine, separator }) =>
      wantedArguments.every((wanted) => commandLine.includes(`${separator}${wanted}${separator}`)),
    )
    .map(({ pid }) => pid);
}

/** What runs under this process id: its parent and its command line, or undefined if nothing does. */
export function describeProcess(
  pid: number,
): { parentPid: number; commandLine: string } | undefined {
  const found = HAS_PROC
    ? processFromProc(pid)
    : listProcesses().find((running) => running.pid === pid);
  if (found === undefined) return undefined;
  const { parentPid, commandLine, separator } = found;
  return { parentPid, commandLine: commandLine.replaceAll(separator, ' ').trim() };
}

/** Whether the process still runs; one that only waits to be reaped does not. */
export function isRunning(pid: number): boolean {
  if (HAS_PROC) return !['Z', 'X', undefined].includes(procStat(pid)?.state);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/**
 * Whether the process has ended and only waits for its parent to take notice. Where process 1 is not
 * a real init, as in many containers, that can take a second, and its id still takes signals.
 */
export function isZombie(pid: number): boolean {
  return HAS_PROC && procStat(pid)?.state === 'Z';
}

/** Sends a signal, to a process that may have ended meanwhile. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Ends a process that is not our child, by one signal after the other, and waits until it is gone. */
export async function endProcess(pid: number, steps: readonly StopStep[]): Promise<void> {
  for (const { signal, waitMs } of [...steps, { signal: 'SIGKILL' as const, waitMs: 5000 }]) {
    sendSignal(pid, signal);
    const deadline = Date.now() + waitMs;
    while (isRunning(pid) && Date.now() < deadline) await delay(20);
    if (!isRunning(pid)) return;
  }
  throw new Error(`Process ${pid} does not end`);
}
