import { createBatches } from '../db/batches.ts';
import type { Sql } from '../db/client.ts';

/** An attempt that has its delivery, but must wait for its endpoint. */
export interface WaitingAttempt {
  deliveryId: string;
  token: string;
  /** Of the endpoint, as `begin` says it. */
  origin: string;
  /** Every place was taken just now; else the times until then are reserved by others. */
  isBusy: boolean;
  /** For how long an attempt there is expected to hold its place; null when nothing is known. */
  expectedMs: number | null;
  /** The time on the clock that the schedule runs on. */
  now: Date;
}

/** What an attempt has shown of its endpoint. */
export interface NotedAttempt {
  origin: string;
  isDelivered: boolean;
  isTimedOut: boolean;
  durationMs: number;
}

/**
 * When webhooks that find no place at their endpoint come again. The state is in the table
 * `webhook_endpoints`, so that all workers share one order of times, and it outlives each of them.
 */
export function createEndpointPace(sql: Sql) {
  return {
    /**
     * Reserves a time at the endpoint, at most ten minutes ahead, and gives the delivery back. A
     * delivery for which there is no time until then is to reserve again when its wait is over.
     *
     * @returns milliseconds to wait; undefined when the delivery was taken by somebody else meanwhile
     */
    reserve: createBatches<WaitingAttempt, number | undefined>((waiting) => reserve(sql, waiting)),

    /**
     * Notes that an attempt ran out of time, or what became of one at an endpoint that others wait
     * for: with every eight time-outs in a row it gets half as many places, with a success all.
     */
    note: createBatches<NotedAttempt, void>(async (attempts) => {
      await sql`SELECT note_webhook_attempts(${sql.json(attempts.map((attempt) => ({ ...attempt })))})`;
      return [];
    }),
  };
}

async function reserve(sql: Sql, waiting: WaitingAttempt[]): Promise<(number | undefined)[]> {
  const asked = waiting.map(({ now, ...attempt }) => ({ ...attempt, now: now.toISOString() }));
  const rows = await sql<{ token: string; waitMs: number }[]>`
    SELECT token, wait_ms FROM reserve_webhook_attempts(${sql.json(asked)})`;
  const waitsMs = new Map(rows.map(({ token, waitMs }) => [token, waitMs]));
  return waiting.map(({ token }) => waitsMs.get(token));
}
