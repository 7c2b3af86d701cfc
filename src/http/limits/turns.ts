import { createLimiter, type Limiter, type Limits } from '../../limiter.ts';
import { tooManyRequests } from '../responses/errors.ts';
import type { HttpRefusal } from '../responses/errors.ts';
import { RESPONSE_TIMEOUT_MS, WAITING_SHARE } from './deadline.ts';
import { limiterByEnvironment, type LimiterByEnvironment } from './slots.ts';

/**
 * Requests that change orders, at the same time in one environment: one merchant alone has half of them. With more of
 * them, two processors complete no more orders a second, and each request takes longer (docs/adr/0016): on a machine
 * that answers eight calls a second, a second with these, and with 16 sometimes more than the 4.5 s of a response.
 */
export const CHANGES_AT_ONCE = 8;

/**
 * As {@link CHANGES_AT_ONCE}, for requests that only read. One merchant's reads and changes, half of both, are
 * fewer than the 20 connections to the database: they leave some to others. With 12 one merchant read 0.86 as often.
 */
export const READS_AT_ONCE = 24;

/** More than the requests that wait for a gateway, among which are the pages of buyers. */
const PAGES_AT_ONCE = { ofAll: 96, ofOne: 16 };

const LONGEST_RETRY_AFTER_SECONDS = 10;

/** In which turns requests are worked on. */
export interface Turns {
  /** By merchant. */
  readonly changes: LimiterByEnvironment;
  /** By merchant. */
  readonly reads: LimiterByEnvironment;
  /** By the network of the client. */
  readonly pages: Limiter;
}

/**
 * Creates the {@link Turns} of a process. A request whose turn does not come in time is refused before its work has begun.
 * Its client is told to come back once those that wait now have begun, because an earlier repeat would delay them.
 *
 * @param responseTimeoutMs in which a request is answered
 * @returns their refusals are `TOO_MANY_REQUESTS` with `Retry-After`
 */
export function createTurns(responseTimeoutMs = RESPONSE_TIMEOUT_MS): Turns {
  const maxWaitMs = responseTimeoutMs * WAITING_SHARE;
  const limiter = (limits: Limits) => createLimiter({ ...limits, maxWaitMs }, tooMany);
  return {
    changes: limiterByEnvironment(() => limiter({ ofAll: CHANGES_AT_ONCE })),
    reads: limiterByEnvironment(() => limiter({ ofAll: READS_AT_ONCE })),
    pages: limiter(PAGES_AT_ONCE),
  };
}

function tooMany(waitingMs: number): HttpRefusal {
  const seconds = Math.max(1, Math.ceil(waitingMs / 1000));
  return tooManyRequests(Math.min(LONGEST_RETRY_AFTER_SECONDS, seconds));
}
