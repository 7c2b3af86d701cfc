import { basename, join } from 'node:path';
import { overridden } from '../config.ts';
import { endedError } from '../processes/errors-in-log.ts';
import type { Guard } from '../processes/guard.ts';
import { statusOf } from '../processes/ports.ts';
import { startServerProcess, untilReady, type ServerProcess } from '../processes/server-process.ts';
import type { MemberPlan, StartChanges, Task } from '../processes/supervisor.ts';

/** The folder of this checkout. */
export const REPOSITORY = join(import.meta.dirname, '../..');

/** Shorter than the 15 s of a webhook attempt, so that Ctrl-C does not take that long. */
const STOP_STEPS = [{ signal: 'SIGTERM', waitMs: 4000 }] as const;

/** A frozen server accepts connections and does not respond. */
const RESPONSE_TIMEOUT_MS = 2500;

/** How processes of this checkout are started. */
export interface Launcher {
  readonly dataDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly guard: Guard;
  readonly signal: AbortSignal;
}

/** An argument of each process of this run, by which it can be told from those of others. */
const runMarker = (dataDir: string) => `--run-of=${dataDir}`;

/** The log of a member. */
export const logFileOf = (dataDir: string, name: string) => join(dataDir, 'logs', `${name}.log`);

/** Starts an entry point with the Node of this process. */
function launchEntry(
  { dataDir, env, guard }: Launcher,
  { entry, logFile, continueLog }: { entry: string; logFile: string; continueLog: boolean },
  changes: StartChanges = {},
): Promise<ServerProcess> {
  return startServerProcess({
    file: process.execPath,
    args: [join(changes.repository ?? REPOSITORY, entry), runMarker(dataDir)],
    env: overridden(env, changes.env ?? {}),
    logFile,
    continueLog,
    stopSteps: STOP_STEPS,
    reportsReady: true,
    guard,
  });
}

/** A process of this checkout. */
export interface Entry<Name extends string> {
  readonly name: Name;
  /** The file that it runs, relative to the repository; it names the log unless that is given. */
  readonly entry: string;
  readonly logFile?: string;
  /** What is added to the environment of all. */
  readonly env?: Readonly<Record<string, string>>;
  /** It starts once there are demo orders, if there are to be any. */
  readonly showsOrders?: boolean;
  /** It is ready when it responds with 200 at this URL, or without one when it reports it. */
  readonly readyUrl?: string;
}

const entryLog = ({ dataDir }: Launcher, { entry, logFile }: Entry<string>) =>
  logFile ?? logFileOf(dataDir, basename(entry, '.ts'));

/** A member that runs an entry point. */
export function entryMember<Name extends string>(
  launcher: Launcher,
  given: Entry<Name>,
  whenItEnds: MemberPlan['whenItEnds'],
): MemberPlan<Name> {
  const { name, entry, env = {}, readyUrl } = given;
  const logFile = entryLog(launcher, given);
  const again = whenItEnds === 'start again';
  const changed = { ...launcher, env: { ...launcher.env, ...env } };
  const responds = async () =>
    readyUrl === undefined || (await statusOf(readyUrl, RESPONSE_TIMEOUT_MS)) === '200';
  return {
    name,
    logFile,
    whenItEnds,
    showErrors: !again,
    responds,
    async launch(changes, onSpawn) {
      const process = await launchEntry(changed, { entry, logFile, continueLog: again }, changes);
      onSpawn(process);
      let hasReported = false;
      void process.ready.then(() => (hasReported = true));
      const isUp = await untilReady(process, {
        name,
        logFile,
        isReady: () => (readyUrl === undefined ? hasReported : responds()),
        signal: launcher.signal,
        // What is started again may also wait for a server that is away.
        ...(again && { timeoutMs: Infinity }),
      });
      if (!isUp) throw endedError(name, logFile, await process.exited);
    },
  };
}

/** A task that runs an entry point to its end. */
export function entryTask(launcher: Launcher, given: Entry<string>, continueLog = false): Task {
  const { name, entry, env = {} } = given;
  const logFile = entryLog(launcher, given);
  const launch = () => launchEntry(launcher, { entry, logFile, continueLog }, { env });
  return { name, logFile, launch };
}
