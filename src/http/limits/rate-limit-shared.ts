import type { Logger } from 'pino';
import type postgres from 'postgres';
import { createLimiter } from '../../limiter.ts';
import { limitKeyOf } from './client-ip.ts';
import { withinTimeout } from './deadline.ts';
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

/** How long a request waits for the shared limiter. */
const TIMEOUT_MS = 500;

/** After the shared limiter has failed or was slow, one request in this time asks it. */
const ASKED_AGAIN_AFTER_MS = 1000;

/** The settings of {@link createSharedRateLimiter}. */
export interface SharedRateLimiterOptions {
  /** The limiter that all processes share. */
  readonly shared: RateLimiter;
  /** The limiter of this process. */
  readonly own: RateLimiter;
  readonly limitPerSecond: number;
  readonly log: Logger;
  readonly timeoutMs?: number | undefined;
}

/**
 * Creates a limiter that asks a shared one, and counts for itself while that one fails or is slow. A client
 * has at most as many questions under way as it has requests in a second: a flood is refused without them.
 */
export function createSharedRateLimiter(options: SharedRateLimiterOptions): RateLimiter {
  const { shared, own, limitPerSecond, log, timeoutMs = TIMEOUT_MS } = options;
  const refused = new Error('The client has as many questions under way as it may have requests');
  const questions = createLimiter({ ofOne: limitPerSecond, maxWaitMs: 0 }, () => refused);
  let askedAgainAtMs = 0;

  async function ask(ip: string) {
    const isAdmitted = await withinTimeout(
      questions.run(limitKeyOf(ip), () => shared.admit(ip)),
      timeoutMs,
    );
    // What all processes have admitted counts here as well, when this one counts for itself.
    if (isAdmitted) await own.admit(ip);
    askedAgainAtMs = 0;
    return isAdmitted;
  }

  return {
    async admit(ip) {
      const nowMs = performance.now();
      if (nowMs < askedAgainAtMs) return own.admit(ip);
      if (askedAgainAtMs > 0) askedAgainAtMs = nowMs + ASKED_AGAIN_AFTER_MS;
      try {
        return await ask(ip);
      } catch (err) {
        if (err === refused) return false;
        askedAgainAtMs = performance.now() + ASKED_AGAIN_AFTER_MS;
        log.error({ err }, 'The shared rate limiter failed; this process counts for itself');
        return own.admit(ip);
      }
    },
  };
}
