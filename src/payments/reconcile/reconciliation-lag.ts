import type { Sql } from '../../db/client.ts';

/**
 * For how many seconds the most overdue check of a payment session has been due; 0 if none is. While reconciliation
 * runs, this is at most the interval of its Schedule.
 */
export async function reconciliationLagSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM service_now() - next_check_at)::float8 AS seconds
    FROM payment_sessions WHERE next_check_at IS NOT NULL ORDER BY next_check_at LIMIT 1`;
  return Math.max(0, row?.seconds ?? 0);
}
