import { setTimeout as delay } from 'node:timers/promises';
import { SetupError } from '../../src/setup-error.ts';
import { ConfigError, inheritedEnvironment } from '../../src/settings.ts';
import { loadDevConfig } from '../config.ts';
import { watchAncestors } from '../processes/ancestor-watch.ts';
import { createSupervisor, type Supervisor } from '../processes/supervisor.ts';

/** After this, remaining processes are killed: a shutdown may take ten seconds. */
const SHUTDOWN_TIMEOUT_MS = 8500;

/** The reason of a requested stop; any other reason is a failure. */
class StopRequest extends Error {
  override readonly name = 'StopRequest';
}

/** Rejects with a {@link StopRequest} at a signal, or when npm ends. */
function stopRequest(onSecondRequest: () => void): Promise<never> {
  const requested = Promise.withResolvers<never>();
  requested.promise.catch(() => undefined); // Not an unhandled rejection before it is awaited.
  let isRequested = false;
  const request = (reason: string) => {
    if (isRequested) onSecondRequest();
    isRequested = true;
    requested.reject(new StopRequest(reason));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => request(signal));
  }
  // npm does not forward the signal that kills it.
  const { npm_lifecycle_event } = inheritedEnvironment();
  if (loadDevConfig({ npm_lifecycle_event }).startedByNpm) {
    watchAncestors(() => isRequested || request('npm, which ran this, is gone'));
  }
  return requested.promise;
}

/** Ignores write errors: a closed terminal must not prevent the shutdown. */
function createLog(): (line: string) => void {
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  return (line) => process.stdout.write(`${line}\n`);
}

/** Prints why the run ends. @returns the exit code */
function report(error: unknown, log: (line: string) => void): number {
  if (error instanceof StopRequest) {
    log(`Stopping (${error.message}) …`);
    return 0;
  }
  const isExpected = error instanceof SetupError || error instanceof ConfigError;
  const text = error instanceof Error && !isExpected ? error.stack : (error as Error).message;
  process.stderr.write(`${text ?? String(error)}\n`);
  return 1;
}

/**
 * Runs a service in the terminal until a signal stops it or it ends. A second signal kills it.
 *
 * @param start resolves when it is ready
 * @returns the exit code: 0 after a requested stop, 1 after a failure, which it has printed
 */
export async function runUntilStopped<Name extends string>(
  start: (supervisor: Supervisor<Name>, log: (line: string) => void) => Promise<void>,
): Promise<number> {
  const log = createLog();
  const supervisor = await createSupervisor<Name>(log);
  const ending = Promise.race([supervisor.ended, stopRequest(() => supervisor.kill())]);
  ending.catch(() => undefined); // Not an unhandled rejection before it is awaited.
  const starting = start(supervisor, log);
  let exitCode = 0;
  try {
    await Promise.race([starting, ending]);
    await ending;
  } catch (error) {
    exitCode = report(error, log);
  }
  const late = setTimeout(() => supervisor.kill(), SHUTDOWN_TIMEOUT_MS);
  try {
    await supervisor.stop();
  } catch (error) {
    exitCode = report(error, log);
  }
  clearTimeout(late);
  await Promise.race([starting.catch(() => undefined), delay(1000)]);
  return exitCode;
}
