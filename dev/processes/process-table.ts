import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';

/** Linux has /proc, also where `ps` is not installed; other systems need `ps`. */
const PROC = '/proc';
const HAS_PROC = existsSync(`${PROC}/self/stat`);

interface RunningProcess {
  readonly pid: number;
  readonly parentPid: number;
  /** The arguments, each between two separators: NUL from /proc, a blank from `ps`. */
  readonly commandLine: string;
  readonly separator: string;
}

/** One signal of a shutdown, and how long to wait for the process to end. */
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

/** State letter and parent of a process: the fields after its name, which may contain `)`. */
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
  const match = /^\s*(\d+) +(\d+) (.*)$/.exec(line);
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

/** The processes whose command line contains each of these arguments exactly. */
export function findProcesses(...wantedArguments: string[]): number[] {
  return listProcesses()
    .filter(({ pid }) => pid !== process.pid)
    .filter(({ commandLine, separator }) =>
      wantedArguments.every((wanted) => commandLine.includes(`${separator}${wanted}${separator}`)),
    )
    .map(({ pid }) => pid);
}

/** The parent and the command line of a process, or undefined when no such process runs. */
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

/** Whether the process runs; a zombie does not. */
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
 * Whether the process has ended but its parent has not reaped it. Without an init process, as in
 * many containers, that can take a second, during which its id still accepts signals.
 */
export function isZombie(pid: number): boolean {
  return HAS_PROC && procStat(pid)?.state === 'Z';
}

/** Sends a signal; ignores a process that has ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The process and its descendants, each after its parent. */
export function processTree(root: number): number[] {
  const running = listProcesses();
  const tree = new Set([root]);
  // A set yields also what is added to it meanwhile.
  for (const member of tree) {
    for (const { pid, parentPid } of running) if (parentPid === member) tree.add(pid);
  }
  return [...tree];
}

/**
 * Sends a signal to a process and its descendants. The process is stopped before they are listed, so
 * that it starts no other one meanwhile.
 *
 * @returns those that got the signal
 */
export function signalTree(
  root: number,
  signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT',
): readonly number[] {
  if (signal !== 'SIGCONT') sendSignal(root, 'SIGSTOP');
  const tree = processTree(root);
  for (const pid of tree) sendSignal(pid, signal);
  return tree;
}
