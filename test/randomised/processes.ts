import { join } from 'node:path';
import type { Guard } from '../../dev/processes/guard.ts';
import { startServerProcess, type ServerProcess } from '../../dev/processes/server-process.ts';
import { PART_ENVIRONMENT } from '../support/part-environment.ts';
import { until } from '../support/until.ts';
import type { Part } from './disturbances.ts';

const MAIN = join(import.meta.dirname, '../../src/main');
/** A short time to stop: these processes are also killed, so their shutdown does not matter. */
const STOP_STEPS = [{ signal: 'SIGTERM', waitMs: 1000 }] as const;

/** The service's own processes, as production runs them: one API and one worker. */
export function createProcesses(folder: string, env: Record<string, string>, guard: Guard) {
  const running = new Map<Part, ServerProcess>();

  async function start(part: Part): Promise<void> {
    const child = await startServerProcess({
      file: process.execPath,
      args: [join(MAIN, `${part}.ts`)],
      env: { ...PART_ENVIRONMENT, ...env },
      logFile: join(folder, 'logs', `${part}.log`),
      stopSteps: STOP_STEPS,
      reportsReady: part === 'worker',
      guard,
    });
    running.set(part, child);
    const ended = child.exited.then(({ code }) => {
      throw new Error(`The ${part} ended with ${code} before it was ready`);
    });
    await Promise.race([part === 'worker' ? child.ready : untilHealthy(env), ended]);
    // The worker may be killed from now on.
    ended.catch(() => undefined);
  }

  async function kill(part: Part): Promise<void> {
    const child = running.get(part);
    if (!child) return;
    running.delete(part);
    process.kill(child.pid, 'SIGKILL');
    await child.exited;
  }

  return {
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
