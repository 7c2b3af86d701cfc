import type { Sql } from '../../db/client.ts';
import { createReports } from '../../reports.ts';
import type { SendResult } from '../sending/exchange.ts';

/**
 * `delivered`: the endpoint accepted it. `rejected`: the endpoint answered with a status other than 2xx. `timed_out`
 * and `no_answer`: it did not answer within the limits, or the connection failed. `url_refused`: the address guard
 * refused the URL, so no request was made.
 */
export const ATTEMPT_OUTCOMES = [
  'delivered',
  'rejected',
  'timed_out',
  'no_answer',
  'url_refused',
] as const;

/** An attempt that this process made, scheduled or by hand. */
export interface AttemptMade {
  readonly outcome: (typeof ATTEMPT_OUTCOMES)[number];
  readonly durationMs: number;
  /** True if it was the last attempt of its delivery, which is now FAILED. */
  readonly isGivenUp: boolean;
}

const MADE = createReports<AttemptMade>('webhook-attempt-made');

/** Calls `listener` for each attempt of this process. @returns a function that unsubscribes */
export const onAttemptMade = MADE.subscribe;

/** Reports an attempt of this process. It costs nothing while there is no listener. */
export function publishAttempt(result: SendResult, isGivenUp: boolean): void {
  const { durationMs } = result;
  MADE.publish({ outcome: outcomeOf(result), durationMs, isGivenUp });
}

function outcomeOf(result: SendResult): AttemptMade['outcome'] {
  if (result.outcome === 'accepted') return 'delivered';
  if (result.isUrlRefused) return 'url_refused';
  if (result.isTimedOut) return 'timed_out';
  return result.statusCode === null ? 'no_answer' : 'rejected';
}

/** For how many seconds the most overdue delivery has been due; 0 if none is. */
export async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM service_now() - next_attempt_at)::float8 AS seconds
    FROM webhook_deliveries WHERE state = 'PENDING' ORDER BY next_attempt_at LIMIT 1`;
  return Math.max(0, row?.seconds ?? 0);
}
