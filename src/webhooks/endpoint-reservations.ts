import { createBatches } from '../db/batches.ts';
import type { Sql } from '../db/client.ts';

/** An attempt that holds the lease of its delivery but must wait for its endpoint. */
export interface WaitingAttempt {
  deliveryId: string;
  token: string;
  /** Of the endpoint, as `begin` returned it. */
  origin: string;
  /** True when every slot was taken; false when other deliveries have reserved earlier times. */
  isBusy: boolean;
  /** How long an attempt there is expected to hold its slot; null when unknown. */
  expectedMs: number | null;
  /** The time on the clock of the retry schedule. */
  now: Date;
}

/** The result of an attempt as far as it concerns its endpoint. */
export interface EndpointResult {
  origin: string;
  isDelivered: boolean;
  isTimedOut: boolean;
  durationMs: number;
}

/**
 * Schedules webhooks that find no free slot at their endpoint. The state is in the table
 * `webhook_endpoints`, so all workers share one schedule, which survives their restarts.
 */
export function createEndpointReservations(sql: Sql) {
  return {
    /**
     * Reserves a time at the endpoint, at most ten minutes ahead, and ends the lease of the
     * delivery. When no time is free until then, the caller reserves again after the wait.
     *
     * @returns milliseconds to wait; undefined when another process has leased the delivery meanwhile
     */
    reserve: createBatches<WaitingAttempt, number | undefined>((waiting) => reserve(sql, waiting)),

    /**
     * Records the result of an attempt that timed out, or at an endpoint that others wait for.
     * Every eight time-outs in a row halve the slots of the endpoint; a success restores them all.
     */
    recordEndpointResult: createBatches<EndpointResult, void>(async (attempts) => {
      await sql`SELECT record_endpoint_results(${sql.json(attempts.map((attempt) => ({ ...attempt })))})`;
      return [];
    }),
  };
}

async function reserve(sql: Sql, waiting: WaitingAttempt[]): Promise<(number | undefined)[]> {
  const requested = waiting.map(({ now, ...attempt }) => ({ ...attempt, now: now.toISOString() }));
  const rows = await sql<{ token: string; waitMs: number }[]>`
    SELECT token, wait_ms FROM reserve_webhook_attempts(${sql.json(requested)})`;
  const waitsMs = new Map(rows.map(({ token, waitMs }) => [token, waitMs]));
  return waiting.map(({ token }) => waitsMs.get(token));
}
