import type { Logger } from 'pino';
import type postgres from 'postgres';
import { limitKeyOf } from './client-ip.ts';
import { admissionOf } from './rate-limit.ts';
import type { RateLimiter } from './rate-limit.ts';

/** How often a process removes the rows of clients that went away. */
const SWEEP_INTERVAL_MS = 60_000;

/** Settings of a limiter that all API processes share. */
export interface PostgresRateLimiterOptions {
  readonly limitPerSecond: number;
  readonly log: Logger;
  readonly nowMs?: () => number;
}

/**
 * A sliding window log that all API processes share, in one statement for each request.
 *
 * PostgreSQL locks the client's row before it evaluates the condition, and the clock is read behind
 * that lock: concurrent requests queue, and each sees what the one before it wrote. A clock that is
 * set back must not shut anyone out, so moments from the future do not count.
 *
 * @param sql needs the table `rate_limits` (client text primary key, admitted_at timestamptz[]).
 */
export function createPostgresRateLimiter(
  sql: postgres.Sql,
  options: PostgresRateLimiterOptions,
): RateLimiter {
  const { limitPerSecond, log, nowMs = () => performance.now() } = options;
  let sweptAtMs = nowMs();

  const sweep = async () => {
    await sql`
      DELETE FROM rate_limits
      WHERE admitted_at[cardinality(admitted_at)] < clock_timestamp() - interval '1 minute'`;
  };
  const sweepWhenDue = () => {
    if (nowMs() - sweptAtMs < SWEEP_INTERVAL_MS) return;
    sweptAtMs = nowMs();
    sweep().catch((err: unknown) => log.warn({ err }, 'Idle rate limits could not be removed'));
  };

  return {
    async admit(ip) {
      sweepWhenDue();
      const inWindow = sql`
        SELECT moment FROM unnest(seen.admitted_at) AS moment
        WHERE moment BETWEEN clock_timestamp() - interval '1 second'
                         AND clock_timestamp() + interval '1 second'`;
      const admitted = await sql`
        INSERT INTO rate_limits AS seen (client, admitted_at)
        VALUES (${limitKeyOf(ip)}, ARRAY[clock_timestamp()])
        ON CONFLICT (client) DO UPDATE
          SET admitted_at = ARRAY(${inWindow}) || clock_timestamp()
          WHERE (SELECT count(*) FROM (${inWindow}) AS recent) < ${limitPerSecond}
        RETURNING true`;
      return admissionOf(admitted.length > 0);
    },
  };
}
