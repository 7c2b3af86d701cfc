import type { Client } from '@temporalio/client';
import type { Worker } from '@temporalio/worker';
import type { Sql } from '../../db/client.ts';
import { createReadiness } from '../../http/server/readiness.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** A second signal has its usual effect: it ends the process at once. */
function onFirstSignal(listener: () => void): void {
  const onSignal = () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    listener();
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
}

/**
 * The health of a worker process. It is ready while each of its workers polls, and the database and
 * Temporal answer; it is not ready while it stops. When one of its workers has failed, only a restart
 * helps.
 */
export function createWorkerHealth({ sql, temporal }: { sql: Sql; temporal: Client }) {
  let watched: readonly Worker[] = [];
  const readiness = createReadiness({
    polls: async () => {
      const states = watched.map((worker) => worker.getState());
      const isPolling = states.length > 0 && states.every((state) => state === 'RUNNING');
      if (!isPolling) throw new Error(`The states of the workers: ${states.join() || 'none yet'}`);
    },
    database: () => sql`SELECT 1`,
    temporal: () => temporal.workflowService.getSystemInfo({}),
  });
  onFirstSignal(() => readiness.startStopping());
  return {
    readiness,
    isAlive: () => watched.every((worker) => worker.getState() !== 'FAILED'),
    /** Names the workers of this process, once they exist. */
    watch(workers: readonly Worker[]): void {
      watched = workers;
    },
  };
}
