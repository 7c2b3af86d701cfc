import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { inject } from 'vitest';
import { databaseUrl } from '../../dev/postgres/databases.ts';
import { connectDatabase } from '../../src/db/client.ts';
import { SERVICE_LOGIN } from './service-login.ts';
import { UNTIL_MS } from './time-limits.ts';

/** A separate migrated database for a test, dropped at the end. */
export async function createTestDatabase() {
  const adminUrl = inject('postgresAdminUrl');
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  await admin.unsafe(`CREATE DATABASE ${name} TEMPLATE ${inject('templateDatabase')}`);
  const ownerUrl = new URL(adminUrl);
  ownerUrl.pathname = `/${name}`;
  const url = databaseUrl(adminUrl, name, SERVICE_LOGIN);
  // A test may hold a lock without a word for as long as it waits.
  const sql = connectDatabase(ownerUrl.href, { name: 'test', statementTimeoutMs: UNTIL_MS });
  const serviceSql = connectDatabase(url, { name: 'test-service', maxConnections: 20 });
  return {
    /** The URL with which the service connects. */
    url,
    /** Connects as the owner, so that tests can read and damage what the service wrote. */
    sql,
    /** The connections of the service under test. */
    serviceSql,
    async drop() {
      await Promise.all([sql.end({ timeout: 1 }), serviceSql.end({ timeout: 1 })]);
      await admin.unsafe(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end({ timeout: 1 });
    },
  };
}
export type TestDatabase = Awaited<ReturnType<typeof createTestDatabase>>;

/**
 * Makes the database's clock movable, as Temporal's clock is by skipped time: replaces the one function
 * that supplies times of receipt.
 */
export async function installTestClock({ sql }: Pick<TestDatabase, 'sql'>) {
  await sql.unsafe(`
    CREATE TABLE test_clock (ahead interval NOT NULL, stopped_at timestamptz);
    INSERT INTO test_clock VALUES ('0');
    GRANT SELECT ON test_clock TO ${SERVICE_LOGIN.name};
    CREATE OR REPLACE FUNCTION service_now() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT coalesce(stopped_at, clock_timestamp() + ahead) FROM test_clock'`);
  return {
    /** @param aheadMs how far the database's clock is ahead of real time from now on */
    set: (aheadMs: number) =>
      sql`UPDATE test_clock SET ahead = ${aheadMs} * interval '1 millisecond', stopped_at = NULL`,
    advance: (ms: number) =>
      sql`UPDATE test_clock SET ahead = ahead + ${ms} * interval '1 millisecond'`,
    /** Stops the clock at a moment, to the millisecond, until it is set again. */
    stopAt: (moment: Date) => sql`UPDATE test_clock SET stopped_at = ${moment}`,
  };
}
