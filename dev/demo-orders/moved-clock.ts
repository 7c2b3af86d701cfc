import type { Sql } from '../../src/db/client.ts';

/** The database's clock, as the open transaction sees it. */
export interface MovedClock {
  nowMs(): number;
  set(atMs: number): Promise<void>;
  /** From now on it is the real one again. */
  end(): Promise<void>;
}

/**
 * Makes the database's clock movable in the open transaction, so that what is written in it has times of the
 * past. No other transaction sees the change, and this one ends it before it commits.
 *
 * @param sql of the tables' owner, with one connection, on which the transaction is open
 */
export async function moveClock(sql: Sql): Promise<MovedClock> {
  const [{ definition }] = await sql<[{ definition: string }]>`
    SELECT pg_get_functiondef('service_now()'::regprocedure) AS definition`;
  await sql`
    CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    AS 'SELECT current_setting(''demo.now'')::timestamptz'`;
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    async set(atMs) {
      nowMs = atMs;
      await sql`SELECT set_config('demo.now', ${new Date(atMs).toISOString()}, true)`;
    },
    end: async () => void (await sql.unsafe(definition)),
  };
}
