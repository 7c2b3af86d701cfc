import type { Logger } from 'pino';
import type postgres from 'postgres';
import { limitKeyOf } from './client-ip.ts';
import type { RateLimiter } from './rate-limit.ts';

/** How often a process deletes the rows of idle clients. */
const SWEEP_INTERVAL_MS = 60_000;

/** The settings of a limiter that all API processes share. */
export interface PostgresRateLimiterOptions {
  readonly limitPerSecond: number;
  readonly log: Logger;
  readonly nowMs?: () => number;
}

/**
 * Creates a sliding window log that all API processes share, with one statement per request.
 *
 * PostgreSQL locks the client's row before it evaluates the condition and reads the clock, so
 * concurrent requests are serialised and each sees the previous admission. Admissions in the future
 * are ignored, so that a clock that is set back blocks no client.
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
    sweep().catch((err: unknown) =>
      log.warn({ err }, 'Rows of idle clients could not be deleted from rate_limits'),
    );
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
      return admitted.length > 0;
    },
  };
}
