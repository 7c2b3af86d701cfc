import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { defineRoute } from '../define-route.ts';
import type { Route } from '../define-route.ts';

/** Checks one dependency; rejects when the dependency cannot be used. */
export type ReadinessCheck = () => Promise<unknown>;

/** For this long a result is the answer to everyone: how many ask changes nothing for database and Temporal. */
const RESULT_KEPT_MS = 1000;

/** Shorter than the usual timeout of a load balancer's probe. */
const CHECK_TIMEOUT_MS = 2000;

type State = 'up' | 'down';

/** Whether this process should receive requests. */
export interface Readiness {
  check(): Promise<{ ready: boolean; stopping: boolean; checks: Record<string, State> }>;
  /** Makes the process not ready, so that the load balancer stops sending requests. */
  startStopping(): void;
}

async function stateOf(check: ReadinessCheck): Promise<State> {
  const timeout = new AbortController();
  const late = sleep(CHECK_TIMEOUT_MS, 'down' as const, { signal: timeout.signal });
  late.catch(() => undefined);
  const state = check().then(
    () => 'up' as const,
    () => 'down' as const,
  );
  return Promise.race([state, late]).finally(() => timeout.abort());
}

/**
 * Creates the readiness state of this process.
 *
 * @param checks by the name of the dependency: `database`, `temporal`.
 * @param nowMs a monotonic clock
 */
export function createReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  nowMs = () => performance.now(),
): Readiness {
  let stopping = false;
  const statesNow = () =>
    Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await stateOf(check)] as const),
    );
  let latest: { readonly beganAtMs: number; readonly states: ReturnType<typeof statesNow> };
  return {
    async check() {
      const isFresh = latest && nowMs() - latest.beganAtMs < RESULT_KEPT_MS;
      if (!isFresh) latest = { beganAtMs: nowMs(), states: statesNow() };
      const states = await latest.states;
      const ready = !stopping && states.every(([, state]) => state === 'up');
      return { ready, stopping, checks: Object.fromEntries(states) };
    },
    startStopping() {
      stopping = true;
    },
  };
}

const readinessSchema = z.object({
  status: z.enum(['ready', 'unavailable', 'stopping']),
  checks: z.record(z.string(), z.enum(['up', 'down'])),
});

const facts = {
  method: 'GET',
  base: 'root',
  isHealthCheck: true,
} as const;

/** The paths that load balancers probe. */
export const HEALTH_PATHS: readonly string[] = ['/healthz', '/readyz'];

/**
 * Declares `/healthz` (the process runs; it does not check the database or Temporal) and `/readyz` (it can serve, or
 * which check failed; unavailable while the process stops).
 */
export function healthRoutes(readiness: Readiness): Route[] {
  const health = defineRoute({
    ...facts,
    path: '/healthz',
    operationId: 'getHealth',
    responses: {
      200: {
        description: 'The process is alive.',
        schema: z.object({ status: z.literal('alive') }),
      },
    },
  }).handledBy(async () => ({ status: 200, body: { status: 'alive' } }));
  const ready = defineRoute({
    ...facts,
    path: '/readyz',
    operationId: 'getReadiness',
    responses: {
      200: { description: 'The process can serve requests.', schema: readinessSchema },
      503: { description: 'The process cannot serve requests, and why.', schema: readinessSchema },
    },
  }).handledBy(async () => {
    const { ready: isReady, stopping, checks } = await readiness.check();
    if (isReady) return { status: 200, body: { status: 'ready', checks } };
    return { status: 503, body: { status: stopping ? 'stopping' : 'unavailable', checks } };
  });
  return [health, ready];
}
