import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import Postgrator from 'postgrator';

/** An arbitrary id of an advisory lock: processes that migrate concurrently wait for each other. */
const MIGRATION_LOCK = 7_405_001;

/**
 * Applies the SQL files that are not applied yet, and verifies the checksums of the others. The
 * whole run is one transaction on one connection, so an interrupted run changes nothing.
 *
 * @returns the file names of the migrations that were applied
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  const postgrator = new Postgrator({
    driver: 'pg',
    migrationPattern: fileURLToPath(new URL('./migrations/*.sql', import.meta.url)),
    schemaTable: 'schema_version',
    validateChecksums: false,
    execQuery: async (query) => ({ rows: await sql.unsafe(query) }),
  });
  try {
    await sql.unsafe('BEGIN');
    await sql.unsafe(`SELECT pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    // Postgrator's own check leaves out a database with more migrations than there are files.
    await postgrator.validateMigrations(await postgrator.getDatabaseVersion());
    const applied = await postgrator.migrate();
    await sql.unsafe('COMMIT');
    return applied.map(({ filename }) => filename);
  } finally {
    // An open transaction is rolled back with its connection.
    await sql.end({ timeout: 1 });
  }
}
