import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { makePrivateFolder } from '../files/private-file.ts';
import { runCommand, type CommandResult } from '../processes/run-command.ts';
import { SetupError } from '../../src/setup-error.ts';
import { dataDirArgument, type PostgresAccount } from './account.ts';
import type { PostgresBinaries } from './binaries.ts';

/** The superuser of the embedded server. */
export const EMBEDDED_USER = 'postgres';

/** The major version of the binaries: data of another one cannot be opened. */
const MAJOR_VERSION = '18';

/** How to create and open a cluster, which is PostgreSQL's name for a data directory. */
export interface ClusterOptions {
  readonly dataDir: string;
  readonly binaries: PostgresBinaries;
  readonly account: PostgresAccount;
  /** Whether the new files must survive a crash of the machine. */
  readonly sync: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** The environment of PostgreSQL's programs, without the caller's locale or PG variables. */
export const POSTGRES_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

const passwordFile = (dataDir: string) => join(dataDir, 'superuser-password');

function requireSuccess(what: string, { succeeded, output }: CommandResult): void {
  // In single-user mode PostgreSQL reports a failed statement and still exits with 0.
  if (succeeded && !/\b(ERROR|FATAL|PANIC):/.test(output)) return;
  throw new SetupError(
    `PostgreSQL could not ${what} (${output.trim().slice(-2000)}): repair that, or set DATABASE_URL to a PostgreSQL 18 of your own`,
  );
}

/** Runs statements, one per line, in single-user mode, which needs neither server nor login. */
async function runSingleUser(
  { binaries, account, signal }: ClusterOptions,
  dataDir: string,
  statements: string,
): Promise<CommandResult> {
  const data = dataDirArgument(dataDir, account);
  return runCommand(binaries.postgres, ['--single', '-D', data, 'postgres'], {
    ...account,
    env: POSTGRES_ENVIRONMENT,
    cwd: dataDir,
    input: statements,
    signal,
  });
}

/** Whether the password file is valid. If not, the owner of the data directory sets a new one. */
function hasPassword(dataDir: string): boolean {
  const file = passwordFile(dataDir);
  return existsSync(file) && /^[\w-]{32}$/.test(readFileSync(file, 'utf8'));
}

/** Gives the superuser a random password, in a file that only this user can read. */
async function setPassword(options: ClusterOptions, dataDir: string): Promise<void> {
  const password = randomBytes(24).toString('base64url');
  const statement = `ALTER ROLE ${EMBEDDED_USER} PASSWORD '${password}';\n`;
  requireSuccess('set its password', await runSingleUser(options, dataDir, statement));
  await writeFile(passwordFile(dataDir), password, { mode: 0o600 });
}

async function initialise(options: ClusterOptions, dataDir: string): Promise<void> {
  const { binaries, account, sync, signal } = options;
  const args = [
    `--pgdata=${dataDirArgument(dataDir, account)}`,
    `--username=${EMBEDDED_USER}`,
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--auth=reject',
    '--no-instructions',
    ...(sync ? [] : ['--no-sync']),
  ];
  const spawnOptions = { ...account, env: POSTGRES_ENVIRONMENT, cwd: dataDir, signal };
  requireSuccess(
    'create its data directory',
    await runCommand(binaries.initdb, args, spawnOptions),
  );
  await writeFile(join(dataDir, 'pg_hba.conf'), 'host all all 127.0.0.1/32 scram-sha-256\n');
  await setPassword(options, dataDir);
}

/** Creates the cluster under another name and renames it, so `dataDir` is complete if it exists. */
async function createCluster(options: ClusterOptions): Promise<void> {
  const { dataDir, account } = options;
  const unfinished = `${dataDir}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  makePrivateFolder(dirname(dataDir));
  await mkdir(unfinished, { mode: 0o700 });
  if (account.uid !== undefined) await chown(unfinished, account.uid, account.gid ?? account.uid);
  await initialise(options, unfinished);
  try {
    await rename(unfinished, dataDir);
  } catch (error) {
    throw new SetupError(
      `${dataDir} holds something else than PostgreSQL's data: move it away, or choose another DATA_DIR`,
      { cause: error },
    );
  }
}

/**
 * Opens the cluster of a data directory, creating it the first time.
 *
 * @returns the superuser's password.
 * @throws SetupError when it cannot be created, or belongs to another version.
 */
export async function ensureCluster(options: ClusterOptions): Promise<string> {
  const { dataDir } = options;
  const versionFile = join(dataDir, 'PG_VERSION');
  if (!existsSync(versionFile)) await createCluster(options);
  const version = (await readFile(versionFile, 'utf8')).trim();
  if (version !== MAJOR_VERSION) {
    throw new SetupError(
      `${dataDir} holds the data of PostgreSQL ${version}, this is ${MAJOR_VERSION}: choose another DATA_DIR`,
    );
  }
  if (!hasPassword(dataDir)) await setPassword(options, dataDir);
  return readFile(passwordFile(dataDir), 'utf8');
}
