import postgres from 'postgres';
import { runCommand } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import { databaseUrl, ensureDatabase, ensureLogin } from '../postgres/databases.ts';
import { SQL_PLUGIN, type TemporalDatabase } from './server-config.ts';

/** Both databases, and the schema in the tool that belongs to each. */
const DATABASES = [
  { database: 'temporal', schema: 'postgresql/v12/temporal' },
  { database: 'temporal_visibility', schema: 'postgresql/v12/visibility' },
] as const;

/** What the schema is made with. */
export interface TemporalSchemaOptions {
  readonly sqlTool: string;
  /** A superuser's address on the PostgreSQL that keeps the databases. */
  readonly adminUrl: string;
  readonly login: TemporalDatabase['login'];
  readonly env: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal | undefined;
}

async function hasSchema(url: string): Promise<boolean> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    const [row] = await sql<{ found: boolean }[]>`
      SELECT to_regclass('schema_version') IS NOT NULL AS found`;
    return row?.found ?? false;
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function runSqlTool(
  { sqlTool, adminUrl, login, env, signal }: TemporalSchemaOptions,
  database: string,
  args: readonly string[],
): Promise<void> {
  const { hostname, port } = new URL(adminUrl);
  const place = ['--plugin', SQL_PLUGIN, '--ep', hostname, '-p', port, '-u', login.name];
  // The password goes by the environment: every user of the machine can read command lines.
  const { succeeded, output } = await runCommand(sqlTool, [...place, '--db', database, ...args], {
    env: { ...env, SQL_PASSWORD: login.password },
    signal,
  });
  if (succeeded) return;
  const reason = output.trim().split('\n').slice(-3).join(' ');
  throw new SetupError(`Temporal's schema could not be made in database ${database} (${reason})`);
}

/**
 * Makes sure that Temporal's two databases exist, belong to a login of their own, and have the
 * schema of the tool's version.
 *
 * @throws SetupError with what the tool said when it fails.
 */
export async function ensureTemporalSchema(options: TemporalSchemaOptions): Promise<void> {
  const { adminUrl, login } = options;
  await ensureLogin(adminUrl, login);
  await Promise.all(
    DATABASES.map(async ({ database, schema }) => {
      await ensureDatabase(adminUrl, database, { owner: login });
      if (!(await hasSchema(databaseUrl(adminUrl, database, login)))) {
        await runSqlTool(options, database, ['setup-schema', '-v', '0.0']);
      }
      await runSqlTool(options, database, ['update-schema', '--schema-name', schema]);
    }),
  );
}
