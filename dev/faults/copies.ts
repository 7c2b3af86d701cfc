import type postgres from 'postgres';
import { withConnection } from '../postgres/databases.ts';
import type { Run } from './run.ts';

/** The side that is restored from an earlier copy: the service's database, or Temporal's. */
export type Side = 'postgres' | 'temporal';

const GONE_WITHIN_MS = 5000;

/** The databases of a side, which are copied and restored together. */
const databasesOf = ({ cluster }: Run, side: Side) =>
  side === 'temporal'
    ? ['temporal', 'temporal_visibility']
    : [new URL(cluster.databaseUrl).pathname.slice(1)];

const copyOf = (database: string) => `${database}_earlier`;

/** Copies a side as it is now. Closes its connections; clients may connect again. */
export function copyDatabases(run: Run, side: Side): Promise<void> {
  return forEachDatabase(run, side, async (sql, database) => {
    await sql.unsafe(`ALTER DATABASE ${database} ALLOW_CONNECTIONS false`);
    try {
      // PostgreSQL copies only a database without connections.
      await sql`
        SELECT pg_terminate_backend(pid, ${GONE_WITHIN_MS}) FROM pg_stat_activity
        WHERE datname = ${database}`;
      await replace(sql, copyOf(database), database);
    } finally {
      await sql.unsafe(`ALTER DATABASE ${database} ALLOW_CONNECTIONS true`);
    }
  });
}

/** Replaces a side with its copy: everything written since is lost. */
export function restoreDatabases(run: Run, side: Side): Promise<void> {
  return forEachDatabase(run, side, (sql, database) => replace(sql, database, copyOf(database)));
}

/** Temporal does not run meanwhile if the databases are its own. */
async function forEachDatabase(
  run: Run,
  side: Side,
  work: (sql: postgres.Sql, database: string) => Promise<void>,
): Promise<void> {
  const temporal = run.cluster.member('temporal');
  if (side === 'temporal') await temporal.stop();
  await withConnection(run.cluster.adminDatabaseUrl, async (sql) => {
    for (const database of databasesOf(run, side)) await work(sql, database);
  });
  if (side === 'temporal') await temporal.start();
}

async function replace(sql: postgres.Sql, database: string, template: string): Promise<void> {
  const [row] = await sql<[{ owner: string }]>`
    SELECT pg_get_userbyid(datdba) AS owner FROM pg_database WHERE datname = ${template}`;
  await sql.unsafe(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  await sql.unsafe(`CREATE DATABASE ${database} TEMPLATE ${template} OWNER ${row.owner}`);
}
