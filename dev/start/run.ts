import { setTimeout as delay } from 'node:timers/promises';
import type { DevConfig } from '../config.ts';
import { watchAncestors } from '../processes/ancestor-watch.ts';
import { removeDevFacts } from '../dev-facts.ts';
import { startGuard } from '../processes/guard.ts';
import { SetupError } from '../../src/setup-error.ts';
import { createSupervisor, type Supervisor } from './supervisor.ts';
import { claimDataDir } from './data-dir.ts';
import { startAll } from './start-all.ts';

/** After this, remaining processes are killed: a shutdown may take ten seconds. */
const SHUTDOWN_TIMEOUT_MS = 8500;

/** The reason of a requested stop; any other reason is a failure. */
class StopRequest extends Error {
  override readonly name = 'StopRequest';
}

/** Turns signals, and the end of npm, into an abort. */
export function listenForStop(startedByNpm: boolean, onSecondRequest: () => void): AbortController {
  const controller = new AbortController();
  const request = (reason: string) => {
    if (controller.signal.aborted) onSecondRequest();
    else controller.abort(new StopRequest(reason));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => request(signal));
  }
  if (startedByNpm) {
    watchAncestors(() => !controller.signal.aborted && request('npm, which ran this, is gone'));
  }
  return controller;
}

/** Rejects with the reason of an abort. */
export function rejectOnAbort(signal: AbortSignal): Promise<never> {
  const aborted = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => aborted.reject(signal.reason), { once: true });
  aborted.promise.catch(() => undefined); // Not an unhandled rejection before it is awaited.
  return aborted.promise;
}

/** Ignores write errors: a closed terminal must not prevent the shutdown. */
export function createLog(): (line: string) => void {
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  return (line) => process.stdout.write(`${line}\n`);
}

/** Stops all processes, and waits until no start is in progress. */
async function stopAll(supervisor: Supervisor, starting: Promise<void>): Promise<void> {
  const late = setTimeout(() => supervisor.kill(), SHUTDOWN_TIMEOUT_MS);
  await supervisor.stop();
  await Promise.race([starting.catch(() => undefined), delay(1000)]);
  clearTimeout(late);
}

/** Prints why the run ends. @returns the exit code. */
export function report(error: unknown, log: (line: string) => void): number {
  if (error instanceof StopRequest) {
    log(`Stopping (${error.message}) …`);
    return 0;
  }
  const unexpected = error instanceof Error && !(error instanceof SetupError);
  const text = unexpected ? error.stack : (error as SetupError).message;
  process.stderr.write(`${text ?? String(error)}\n`);
  return 1;
}

/**
 * Runs the whole service on this machine until a signal stops it or a part of it ends.
 *
 * @returns the exit code: 0 after a requested stop, 1 after a failure, which it has printed.
 */
export async function runDev(config: DevConfig, env: NodeJS.ProcessEnv): Promise<number> {
  const log = createLog();
  const supervisor = createSupervisor();
  const stop = listenForStop(config.startedByNpm, () => supervisor.kill());
  const { signal } = stop;
  const ending = Promise.race([supervisor.ended, rejectOnAbort(signal)]);
  let exitCode = 0;
  try {
    const claim = await claimDataDir(config.dataDir, log, signal);
    const guard = await startGuard();
    supervisor.watch('The guard of the run', guard.exited);
    const starting = startAll({ config, env, supervisor, guard, log, signal });
    try {
      await Promise.race([starting, ending]);
      await ending;
    } catch (error) {
      exitCode = report(error, log);
      stop.abort(error);
    }
    claim.announceStop();
    removeDevFacts(config.dataDir);
    await stopAll(supervisor, starting);
    await guard.release();
    claim.release();
  } catch (error) {
    exitCode = report(error, log);
  }
  return exitCode;
}
