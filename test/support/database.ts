import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';
import { connectDatabase } from '../../src/db/client.ts';
import { migrate } from '../../src/db/migrate.ts';

/** A migrated database of a test's own, dropped at the end. */
export async function createTestDatabase() {
  const admin = postgres(inject('postgresAdminUrl'), { max: 1, onnotice: () => {} });
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await admin.unsafe(`CREATE DATABASE ${name}`);
  const url = new URL(inject('postgresAdminUrl'));
  url.pathname = `/${name}`;
  await migrate(url.href);
  const sql = connectDatabase(url.href, { name: 'test', maxConnections: 20 });
  return {
    url: url.href,
    sql,
    async drop() {
      await sql.end({ timeout: 1 });
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end({ timeout: 1 });
    },
  };
}
export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/**
 * Lets the database's clock be moved, as Temporal's is by skipped time: replaces the one function
 * that tells the time of receipt.
 */
export async function installTestClock({ sql }: TestDatabase) {
  await sql.unsafe(`
    CREATE TABLE test_clock (ahead interval NOT NULL, stopped_at timestamptz);
    INSERT INTO test_clock VALUES ('0');
    CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT coalesce(stopped_at, clock_timestamp() + ahead) FROM test_clock'`);
  return {
    /** @param aheadMs how far the database's clock is ahead of real time from now on */
    set: (aheadMs: number) =>
      sql`UPDATE test_clock SET ahead = ${aheadMs} * interval '1 millisecond', stopped_at = NULL`,
    /** Stops it at a moment, to the millisecond, until it is set again. */
    stopAt: (moment: Date) => sql`UPDATE test_clock SET stopped_at = ${moment}`,
  };
}
