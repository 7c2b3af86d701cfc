import type { Sql } from '../../db/client.ts';
import { createReports } from '../../reports.ts';
import type { SendResult } from '../sending/exchange.ts';

/** An attempt that this process made, scheduled or by hand. */
export interface AttemptMade extends Readonly<Pick<SendResult, 'outcome' | 'durationMs'>> {
  /** True if it was the last attempt of its delivery, which is now FAILED. */
  readonly isGivenUp: boolean;
}

const MADE = createReports<AttemptMade>('webhook-attempt-made');

/** Calls `listener` for each attempt of this process. @returns a function that unsubscribes */
export const onAttemptMade = MADE.subscribe;

/** Reports an attempt of this process. It costs nothing while there is no listener. */
export function publishAttempt({ outcome, durationMs }: SendResult, isGivenUp: boolean): void {
  MADE.publish({ outcome, durationMs, isGivenUp });
}

/** For how many seconds the most overdue delivery has been due; 0 if none is. */
export async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM service_now() - next_attempt_at)::float8 AS seconds
    FROM webhook_deliveries WHERE state = 'PENDING' ORDER BY next_attempt_at LIMIT 1`;
  return Math.max(0, row?.seconds ?? 0);
}
