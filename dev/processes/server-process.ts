import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../../src/setup-error.ts';
import { makePrivateFolder } from '../files/private-file.ts';
import type { Guard } from './guard.ts';
import { exitOf, type ProcessExit } from './process-exit.ts';
import { sendSignal, type StopStep } from './process-table.ts';

/** A child process that runs until it is stopped. */
export interface ServerProcess {
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
  /** Resolves when the child calls `process.send('ready')`; only with `reportsReady`. */
  readonly ready: Promise<void>;
  /** Sends the signals of `stopSteps`, then SIGKILL; resolves when it has ended. Idempotent. */
  readonly stop: () => Promise<void>;
}

/** Where the output of a process goes, and what ends it when its user is killed. */
interface ProcessContext {
  /** Receives standard output and error. */
  readonly logFile: string;
  /** Continues the log; otherwise the log of the run before is renamed to `.previous`. */
  readonly continueLog?: boolean | undefined;
  readonly guard?: Guard | undefined;
}

/** What to start, and how to stop it. */
export interface ServerProcessOptions extends ProcessContext {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly stopSteps: readonly StopStep[];
  readonly cwd?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly reportsReady?: boolean;
}

/** How a server is started whose start is waited for. */
export interface LaunchOptions extends ProcessContext {
  /** Ends a start that is under way. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the process before it is ready. */
  readonly onSpawn?: ((process: ServerProcess) => void) | undefined;
}

function openLog(file: string, continueLog: boolean): number {
  makePrivateFolder(dirname(file));
  if (existsSync(file) && !continueLog) renameSync(file, `${file}.previous`);
  return openSync(file, 'a', 0o600);
}

/** The last lines of a log without stack frames, for the message about a process that ended. */
export function lastLines(file: string, count = 5): string[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line.trim() !== '' && !/^\s+at /.test(line)).slice(-count);
}

/** Stops a child: sends the signals one after the other, then SIGKILL. */
async function stopChild(
  child: ChildProcess,
  exited: Promise<ProcessExit>,
  steps: readonly StopStep[],
) {
  for (const { signal, waitMs } of steps) {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    const timer = Promise.withResolvers<'late'>();
    const timeout = setTimeout(() => timer.resolve('late'), waitMs);
    const outcome = await Promise.race([exited, timer.promise]);
    clearTimeout(timeout);
    if (outcome !== 'late') return;
  }
  // The child leads its process group: this also kills its descendants.
  sendSignal(-(child.pid ?? 0), 'SIGKILL');
  await exited;
}

/**
 * Starts a server in a separate session, so that a Ctrl-C in the terminal reaches only this process,
 * which controls the order of the shutdown. Its output goes directly to the log file.
 *
 * @throws the system's error when the file cannot be executed.
 */
export async function startServerProcess(options: ServerProcessOptions): Promise<ServerProcess> {
  const { guard, stopSteps, continueLog = false } = options;
  const log = openLog(options.logFile, continueLog);
  const child = spawn(options.file, options.args, {
    detached: true,
    env: options.env,
    stdio: ['ignore', log, log, ...(options.reportsReady === true ? (['ipc'] as const) : [])],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    ...(options.gid === undefined ? {} : { gid: options.gid }),
  });
  closeSync(log);
  const exited = exitOf(child);
  await once(child, 'spawn');
  const pid = child.pid ?? 0;
  const ready = new Promise<void>((resolve) => {
    child.on('message', (message) => message === 'ready' && resolve());
  });
  guard?.watch(pid, stopSteps[0]?.signal ?? 'SIGTERM');
  void exited.then(() => guard?.unwatch(pid));
  let stopping: Promise<void> | undefined;
  return {
    pid,
    exited,
    ready,
    stop: () => (stopping ??= stopChild(child, exited, stopSteps)),
  };
}

const READY_TIMEOUT_MS = 120_000;
const POLL_MS = 25;

/** How it shows that a process is ready. */
export interface Readiness {
  /** The name of the process in messages. */
  readonly name: string;
  readonly logFile: string;
  readonly isReady: () => boolean | Promise<boolean>;
  /** Ends the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Two minutes by default. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Waits until a process that was started is ready.
 *
 * @returns false when it ended instead
 * @throws SetupError when it is late, or the reason of `signal`; the process is stopped then
 */
export async function untilReady(
  server: ServerProcess,
  { name, logFile, isReady, signal, timeoutMs = READY_TIMEOUT_MS }: Readiness,
): Promise<boolean> {
  let hasEnded = false;
  void server.exited.then(() => (hasEnded = true));
  const deadline = Date.now() + timeoutMs;
  try {
    while (!(await isReady())) {
      signal?.throwIfAborted();
      if (hasEnded) return false;
      if (Date.now() > deadline) {
        const waited = `${timeoutMs / 1000} s`;
        throw new SetupError(`${name} is not ready after ${waited}; its log: ${logFile}`);
      }
      await delay(POLL_MS);
    }
    return true;
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** The error of a process that ended before it was ready. */
export function notStarted(
  name: string,
  logFile: string,
  lines = lastLines(logFile, 2),
): SetupError {
  return new SetupError(`${name} did not start: ${lines.join(' ')} (its log: ${logFile})`);
}

/**
 * Starts a server and waits until it is ready.
 *
 * @param name of the server, in messages
 * @throws SetupError when it ends instead, or is not ready within two minutes
 */
export async function launchServer(
  name: string,
  what: Omit<ServerProcessOptions, keyof ProcessContext>,
  { logFile, continueLog, guard, signal, onSpawn }: LaunchOptions,
  isReady: Readiness['isReady'],
): Promise<ServerProcess> {
  const server = await startServerProcess({ ...what, logFile, continueLog, guard });
  onSpawn?.(server);
  const isUp = await untilReady(server, { name, logFile, isReady, signal });
  if (!isUp) throw notStarted(name, logFile);
  return server;
}
