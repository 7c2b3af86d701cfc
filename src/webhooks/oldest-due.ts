import type { Sql } from '../db/client.ts';

/** How long the delivery that has waited longest past its time has done so, in seconds; 0 without one. */
export async function oldestDueSeconds(sql: Sql): Promise<number> {
  const [row] = await sql<{ seconds: number }[]>`
    SELECT extract(epoch FROM service_now() - next_attempt_at)::float8 AS seconds
    FROM webhook_deliveries WHERE state = 'PENDING' ORDER BY next_attempt_at LIMIT 1`;
  return Math.max(0, row?.seconds ?? 0);
}
