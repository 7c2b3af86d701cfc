import type { TestDatabase } from './database.ts';
import { SERVICE_LOGIN } from './service-login.ts';

/**
 * Gives a database a second clock that is stopped until it is moved, for the connections that use
 * `url`: functions of this schema are found before PostgreSQL's own.
 */
export async function installStoppedClock({ sql, url }: Pick<TestDatabase, 'sql' | 'url'>) {
  await sql.unsafe(`
    CREATE SCHEMA stopped_clock;
    CREATE TABLE stopped_clock.clock (moment timestamptz NOT NULL);
    INSERT INTO stopped_clock.clock VALUES (now());
    CREATE FUNCTION stopped_clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
    AS 'SELECT moment FROM stopped_clock.clock';
    GRANT USAGE ON SCHEMA stopped_clock TO ${SERVICE_LOGIN.name};
    GRANT SELECT ON stopped_clock.clock TO ${SERVICE_LOGIN.name}`);
  const stopped = new URL(url);
  stopped.searchParams.set('search_path', 'stopped_clock, pg_catalog, public');
  return {
    /** The database's URL, for connections whose clock is stopped. */
    url: stopped.href,
    /** Moves the clock. */
    advance: async (ms: number) => {
      await sql`UPDATE stopped_clock.clock SET moment = moment + ${ms} * interval '1 millisecond'`;
    },
  };
}
