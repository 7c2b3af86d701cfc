import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import Postgrator from 'postgrator';

/** Any number that is ours alone: two processes that migrate at once take turns. */
const MIGRATION_LOCK = 7_405_001;

/**
 * Brings the schema up to date: plain SQL files, applied once, checked against their checksums.
 * All of it is one transaction on one connection, so a killed run leaves nothing half done.
 *
 * @returns the names of the migrations applied now
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const postgrator = new Postgrator({
    driver: 'pg',
    migrationPattern: fileURLToPath(new URL('./migrations/*.sql', import.meta.url)),
    schemaTable: 'schema_version',
    execQuery: async (query) => ({ rows: await sql.unsafe(query) }),
  });
  try {
    await sql.unsafe('BEGIN');
    await sql.unsafe(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    const applied = await postgrator.migrate();
    await sql.unsafe('COMMIT');
    return applied.map(({ filename }) => filename);
  } finally {
    // An open transaction is rolled back with its connection.
    await sql.end({ timeout: 1 });
  }
}
