import {
  describeExit,
  lastLines,
  type ProcessExit,
  type ServerProcess,
} from '../processes/server-process.ts';
import { sendSignal } from '../processes/process-table.ts';
import { SetupError } from '../../src/setup-error.ts';
import { errorOf } from './error-follower.ts';

/** In what order things stop: what uses another one goes before it. */
const STOP_ORDER = ['part', 'server', 'database'] as const;

/** What a process is to the run. */
export interface Role {
  readonly name: string;
  readonly kind: (typeof STOP_ORDER)[number];
  readonly logFile: string;
}

type Handle = Pick<ServerProcess, 'pid' | 'exited' | 'stop'>;

/** All processes of a run: what one of them does concerns the whole. */
export interface Supervisor {
  /** Rejects with a {@link SetupError} as soon as one ends that should not. */
  readonly ended: Promise<never>;
  /** Starts one that has to run until the supervisor is stopped. */
  start<T extends Handle>(role: Role, launch: () => Promise<T>): Promise<T>;
  /** Runs one to its end. @throws SetupError when it fails. */
  runTask(role: Role, launch: () => Promise<Handle>): Promise<void>;
  /** Counts a process that is not stopped with the others. */
  watch(name: string, exited: Promise<ProcessExit>): void;
  /** Stops all of them, in order, and what is being started just now. */
  stop(): Promise<void>;
  /** Kills all of them at once. */
  kill(): void;
}

function endedError({ name, logFile }: Role, exit: ProcessExit): SetupError {
  const summary = `${name} ended (${describeExit(exit)}); its log: ${logFile}`;
  // Who is killed from outside has written nothing about it.
  const lines = exit.signal === null ? lastLines(logFile) : [];
  const shown = lines.map((line) => `  ${(errorOf(line) ?? line).slice(0, 400)}`);
  return new SetupError([summary, ...shown].join('\n'));
}

/** An empty supervisor. */
export function createSupervisor(): Supervisor {
  const members = new Set<Handle & Role>();
  const starting = new Set<Promise<unknown>>();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => undefined); // It may come while nobody waits for it.
  let stopping = false;

  async function join<T extends Handle>(role: Role, launch: () => Promise<T>): Promise<T> {
    if (stopping) throw new SetupError('Stopping');
    const handle = await launch();
    const member = { ...role, pid: handle.pid, exited: handle.exited, stop: handle.stop };
    members.add(member);
    void handle.exited.then(() => members.delete(member));
    if (stopping) await handle.stop();
    return handle;
  }

  async function track<T extends Handle>(role: Role, launch: () => Promise<T>): Promise<T> {
    const joining = join(role, launch);
    starting.add(joining);
    return joining.finally(() => starting.delete(joining));
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
        await Promise.all([...members].filter((one) => one.kind === kind).map((one) => one.stop()));
      }
      await Promise.allSettled(starting);
    },
    kill() {
      stopping = true;
      for (const { pid } of members) sendSignal(pid, 'SIGKILL');
    },
  };
}
