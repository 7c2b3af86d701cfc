import type { Sql } from '../../src/db/client.ts';

/**
 * Makes the database's clock movable in the open transaction, so that what is written in it has times of the
 * past. No other transaction sees the change, and this one ends it before it commits.
 *
 * @param sql of the tables' owner, with one connection, on which the transaction is open
 */
export async function moveClock(sql: Sql) {
  const [{ definition }] = await sql<[{ definition: string }]>`
    SELECT pg_get_functiondef('service_now()'::regprocedure) AS definition`;
  await sql`
    CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT current_setting(''demo.now'')::timestamptz'`;
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    async set(atMs: number): Promise<void> {
      nowMs = atMs;
      await sql`SELECT set_config('demo.now', ${new Date(atMs).toISOString()}, true)`;
    },
    /** From now on it is the real one again. */
    end: async () => void (await sql.unsafe(definition)),
  };
}

/** The database's clock, as the open transaction sees it. */
export type MovedClock = Awaited<ReturnType<typeof moveClock>>;
