import { join } from 'node:path';
import type postgres from 'postgres';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import { databaseUrl, ensureDatabase, ensureLogin, withConnection } from '../postgres/databases.ts';
import { SQL_PLUGIN, type TemporalDatabase } from './server-config.ts';

const UNUSED_INDEXES = join(import.meta.dirname, 'unused-visibility-indexes.sql');

/** Both databases, with the name of each schema in the tool, and SQL to run after its update. */
const DATABASES: readonly { database: string; schema: string; afterwards?: string }[] = [
  { database: 'temporal', schema: 'postgresql/v12/temporal' },
  {
    database: 'temporal_visibility',
    schema: 'postgresql/v12/visibility',
    afterwards: UNUSED_INDEXES,
  },
];

/** How to create the schema. */
export interface TemporalSchemaOptions {
  readonly sqlTool: string;
  /** The connection URL of a superuser of PostgreSQL. */
  readonly adminUrl: string;
  readonly login: TemporalDatabase['login'];
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

async function hasSchema(sql: postgres.Sql): Promise<boolean> {
  const [row] = await sql<{ found: boolean }[]>`
    SELECT to_regclass('schema_version') IS NOT NULL AS found`;
  return row?.found ?? false;
}

async function runSqlTool(
  { sqlTool, adminUrl, login, env, signal }: TemporalSchemaOptions,
  database: string,
  args: readonly string[],
): Promise<void> {
  const { hostname, port } = new URL(adminUrl);
  const target = ['--plugin', SQL_PLUGIN, '--ep', hostname, '-p', port, '-u', login.name];
  // Every user of the machine can read command lines, so the password is in the environment.
  const { succeeded, output } = await runCommand(sqlTool, [...target, '--db', database, ...args], {
    env: { ...env, SQL_PASSWORD: login.password },
    signal,
  });
  if (succeeded) return;
  const reason = output.trim().split('\n').slice(-3).join(' ');
  throw new SetupError(`Temporal's schema could not be made in database ${database} (${reason})`);
}

/**
 * Creates Temporal's two databases and their login unless they exist, and updates the schema to the
 * version of the tool. Then drops the indexes that no query reads.
 *
 * @throws SetupError with the output of the tool when it fails.
 */
export async function ensureTemporalSchema(options: TemporalSchemaOptions): Promise<void> {
  const { adminUrl, login } = options;
  await ensureLogin(adminUrl, login);
  await Promise.all(
    DATABASES.map(async ({ database, schema, afterwards }) => {
      await ensureDatabase(adminUrl, database, { owner: login });
      const url = databaseUrl(adminUrl, database, login);
      if (!(await withConnection(url, hasSchema))) {
        await runSqlTool(options, database, ['setup-schema', '-v', '0.0']);
      }
      await runSqlTool(options, database, ['update-schema', '--schema-name', schema]);
      if (afterwards !== undefined) await withConnection(url, (sql) => sql.file(afterwards));
    }),
  );
}
