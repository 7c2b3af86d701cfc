import postgres from 'postgres';

/** A login of the embedded server. */
export interface DatabaseLogin {
  readonly name: string;
  readonly password: string;
}

/** PostgreSQL has no CREATE ROLE IF NOT EXISTS. */
const DUPLICATE_OBJECT = '42710';
const DUPLICATE_DATABASE = '42P04';

/** Runs statements, one after the other, on a connection of their own. */
async function execute(url: string, statements: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 10 });
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

async function unlessThere(alreadyThere: string, create: () => Promise<void>): Promise<void> {
  try {
    await create();
  } catch (error) {
    if (!(error instanceof postgres.PostgresError) || error.code !== alreadyThere) throw error;
  }
}

/** The address of a database for a login. */
export function databaseUrl(adminUrl: string, database: string, login: DatabaseLogin): string {
  const url = new URL(adminUrl);
  url.pathname = `/${database}`;
  url.username = login.name;
  url.password = login.password;
  return url.href;
}

/** Makes sure that a login exists, may do nothing by itself, and has this password. */
export async function ensureLogin(
  adminUrl: string,
  { name, password }: DatabaseLogin,
): Promise<void> {
  const options = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}'`;
  await unlessThere(DUPLICATE_OBJECT, () => execute(adminUrl, [`CREATE ROLE ${name}`]));
  await execute(adminUrl, [`ALTER ROLE ${name} ${options}`]);
}

/** Makes sure that a database exists, that a login owns it, and that only those named may enter. */
export async function ensureDatabase(
  adminUrl: string,
  database: string,
  { owner, users = [] }: { owner: DatabaseLogin; users?: readonly DatabaseLogin[] },
): Promise<void> {
  await unlessThere(DUPLICATE_DATABASE, () =>
    execute(adminUrl, [`CREATE DATABASE ${database} OWNER ${owner.name}`]),
  );
  await execute(adminUrl, [
    `REVOKE ALL ON DATABASE ${database} FROM PUBLIC`,
    ...users.map(({ name }) => `GRANT CONNECT ON DATABASE ${database} TO ${name}`),
  ]);
}
