import { join } from 'node:path';
import type { Guard } from '../../dev/processes/guard.ts';
import {
  describeExit,
  lastLines,
  startServerProcess,
  type ServerProcess,
} from '../../dev/processes/server-process.ts';
import { PART_ENVIRONMENT } from '../support/part-environment.ts';
import { until } from '../support/until.ts';
import type { Part } from './disturbances.ts';

const MAIN = join(import.meta.dirname, '../../src/main');
/** A short time to stop: these processes are also killed, so their shutdown does not matter. */
const STOP_STEPS = [{ signal: 'SIGTERM', waitMs: 1000 }] as const;

/** The service's own processes, as production runs them: one API and one worker. */
export function createProcesses(folder: string, env: Record<string, string>, guard: Guard) {
  const running = new Map<Part, ServerProcess>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined);

  async function start(part: Part): Promise<void> {
    const logFile = join(folder, 'logs', `${part}.log`);
    const child = await startServerProcess({
      file: process.execPath,
      args: [join(MAIN, `${part}.ts`)],
      env: { ...PART_ENVIRONMENT, ...env },
      logFile,
      stopSteps: STOP_STEPS,
      reportsReady: part === 'worker',
      guard,
    });
    running.set(part, child);
    void child.exited.then((exit) => {
      if (running.get(part) !== child) return; // It was killed.
      running.delete(part);
      const said = lastLines(logFile).join('\n');
      failure.reject(new Error(`The ${part} ended by itself, ${describeExit(exit)}: ${said}`));
    });
    const ready = part === 'worker' ? child.ready : untilHealthy(env);
    await Promise.race([ready, failure.promise]);
  }

  async function kill(part: Part): Promise<void> {
    const child = running.get(part);
    if (!child) return;
    running.delete(part);
    process.kill(child.pid, 'SIGKILL');
    await child.exited;
  }

  return {
    /** Rejects when a process ends that was not killed. */
    failed: failure.promise,
    async start() {
      await Promise.all([start('api'), start('worker')]);
    },
    /** Kills the processes without notice, as a power cut would. */
    async kill() {
      await Promise.all([kill('api'), kill('worker')]);
    },
    async killAndStart(part: Part) {
      await kill(part);
      await start(part);
    },
  };
}
export type Processes = ReturnType<typeof createProcesses>;

async function untilHealthy(env: Record<string, string>): Promise<void> {
  const isHealthy = () =>
    fetch(`${env['PUBLIC_BASE_URL']}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until(isHealthy);
}
