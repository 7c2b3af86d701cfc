import {
  describeExit,
  lastLines,
  type ProcessExit,
  type ServerProcess,
} from '../processes/server-process.ts';
import { sendSignal } from '../processes/process-table.ts';
import { SetupError } from '../../src/setup-error.ts';
import { errorOf } from './error-follower.ts';

/** The order in which processes stop: a process before those that it uses. */
const STOP_ORDER = ['part', 'server', 'database'] as const;

/** The name of a process in messages, its place in the order of the shutdown, and its log. */
export interface Role {
  readonly name: string;
  readonly kind: (typeof STOP_ORDER)[number];
  readonly logFile: string;
}

type Handle = Pick<ServerProcess, 'pid' | 'exited' | 'stop'>;

/** The processes of a run, which end together. */
export interface Supervisor {
  /** Rejects with a {@link SetupError} when a process ends unexpectedly. */
  readonly ended: Promise<never>;
  /** Starts a process that runs until the supervisor stops. */
  start<T extends Handle>(role: Role, launch: () => Promise<T>): Promise<T>;
  /** Runs a process to its end. @throws SetupError when it fails. */
  runTask(role: Role, launch: () => Promise<Handle>): Promise<void>;
  /** Observes a process that `stop` does not stop. */
  watch(name: string, exited: Promise<ProcessExit>): void;
  /** Stops all processes in order, including those that are being started. */
  stop(): Promise<void>;
  /** Kills all processes immediately. */
  kill(): void;
}

function endedError({ name, logFile }: Role, exit: ProcessExit): SetupError {
  const summary = `${name} ended (${describeExit(exit)}); its log: ${logFile}`;
  // A process that was killed by a signal has not logged the reason.
  const lines = exit.signal === null ? lastLines(logFile) : [];
  const shown = lines.map((line) => `  ${(errorOf(line) ?? line).slice(0, 400)}`);
  return new SetupError([summary, ...shown].join('\n'));
}

/** Creates a supervisor without processes. */
export function createSupervisor(): Supervisor {
  const running = new Set<Handle & Role>();
  const starting = new Set<Promise<unknown>>();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined); // Not an unhandled rejection before it is awaited.
  let stopping = false;

  async function launchAs<T extends Handle>(role: Role, launch: () => Promise<T>): Promise<T> {
    if (stopping) throw new SetupError('Stopping');
    const handle = await launch();
    const entry = { ...role, pid: handle.pid, exited: handle.exited, stop: handle.stop };
    running.add(entry);
    void handle.exited.then(() => running.delete(entry));
    if (stopping) await handle.stop();
    return handle;
  }

  async function track<T extends Handle>(role: Role, launch: () => Promise<T>): Promise<T> {
    const launched = launchAs(role, launch);
    starting.add(launched);
    return launched.finally(() => starting.delete(launched));
  }

  return {
    ended: ended.promise,
    async start(role, launch) {
      const handle = await track(role, launch);
      void handle.exited.then((exit) => {
        if (!stopping) ended.reject(endedError(role, exit));
      });
      return handle;
    },
    async runTask(role, launch) {
      const { exited } = await track(role, launch);
      const exit = await exited;
      if (exit.code !== 0) throw endedError(role, exit);
    },
    watch(name, exited) {
      void exited.then((exit) => {
        if (!stopping) ended.reject(new SetupError(`${name} ended (${describeExit(exit)})`));
      });
    },
    async stop() {
      stopping = true;
      for (const kind of STOP_ORDER) {
        await Promise.all([...running].filter((one) => one.kind === kind).map((one) => one.stop()));
      }
      await Promise.allSettled(starting);
    },
    kill() {
      stopping = true;
      for (const { pid } of running) sendSignal(pid, 'SIGKILL');
    },
  };
}
