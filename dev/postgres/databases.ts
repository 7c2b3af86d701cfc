import postgres from 'postgres';

/** A login of the embedded server. */
export interface DatabaseLogin {
  readonly name: string;
  readonly password: string;
}

/** PostgreSQL has no CREATE ROLE IF NOT EXISTS. */
const DUPLICATE_OBJECT = '42710';
const DUPLICATE_DATABASE = '42P04';

/** Uses one connection, and closes it. */
export async function withConnection<Result>(
  url: string,
  use: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** The same URL with another database. */
export function onDatabase(url: string, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}

/** Runs statements one after the other on a new connection. */
const execute = (url: string, statements: readonly string[]) =>
  withConnection(url, async (sql) => {
    for (const statement of statements) await sql.unsafe(statement);
  });

/** Runs `create` and ignores one PostgreSQL error code, which means that the object exists. */
async function ignoreExisting(errorCode: string, create: () => Promise<void>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || error.code !== errorCode) throw error;
  }
}

/** The connection URL of a database for a login, on the server of `adminUrl`. */
export function databaseUrl(adminUrl: string, database: string, login: DatabaseLogin): string {
  const url = new URL(onDatabase(adminUrl, database));
  url.username = login.name;
  url.password = login.password;
  return url.href;
}

/** Creates a login unless it exists, and sets its password. It has no privileges by itself. */
export async function ensureLogin(
  adminUrl: string,
  { name, password }: DatabaseLogin,
): Promise<void> {
  const options = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}'`;
  await ignoreExisting(DUPLICATE_OBJECT, () => execute(adminUrl, [`CREATE ROLE ${name}`]));
  await execute(adminUrl, [`ALTER ROLE ${name} ${options}`]);
}

/** Creates a database unless it exists. Only `owner` and `users` may connect. */
export async function ensureDatabase(
  adminUrl: string,
  database: string,
  { owner, users = [] }: { owner: DatabaseLogin; users?: readonly DatabaseLogin[] },
): Promise<void> {
  await ignoreExisting(DUPLICATE_DATABASE, () =>
    execute(adminUrl, [`CREATE DATABASE ${database} OWNER ${owner.name}`]),
  );
  await execute(adminUrl, [
    `REVOKE ALL ON DATABASE ${database} FROM PUBLIC`,
    ...users.map(({ name }) => `GRANT CONNECT ON DATABASE ${database} TO ${name}`),
  ]);
}

const SERVICE_DATABASE = 'merchant_orders';

/**
 * The service's database, with an owner for migrations and a login for everything else.
 *
 * @param passwords of these two
 */
export async function ensureServiceDatabase(
  adminUrl: string,
  passwords: { readonly owner: string; readonly service: string },
) {
  const owner = { name: `${SERVICE_DATABASE}_owner`, password: passwords.owner };
  const service = { name: `${SERVICE_DATABASE}_service`, password: passwords.service };
  await ensureLogin(adminUrl, owner);
  await ensureLogin(adminUrl, service);
  await ensureDatabase(adminUrl, SERVICE_DATABASE, { owner, users: [service] });
  return {
    databaseUrl: databaseUrl(adminUrl, SERVICE_DATABASE, service),
    migrationDatabaseUrl: databaseUrl(adminUrl, SERVICE_DATABASE, owner),
  };
}
