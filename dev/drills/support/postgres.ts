import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dataDirIn, type Run } from '../../faults/run.ts';
import { postgresAccount } from '../../postgres/account.ts';
import { withConnection } from '../../postgres/databases.ts';
import { startEmbeddedPostgres } from '../../postgres/server.ts';
import { freePort } from '../../processes/ports.ts';
import { runCommand } from '../../processes/run-command.ts';
import { postgresFolder } from '../../start/data-dir.ts';
import type { Drill } from './load.ts';
import { inSeconds, report, waitFor } from './report.ts';

export const ARCHIVE_TIMEOUT_SECONDS = 5;
const RECOVERED_WITHIN_MS = 120_000;

/** That of the production-like shape: a copy with fewer does not start. */
const MAX_CONNECTIONS = 200;

/** Where the PostgreSQL of a run keeps its data. */
export const postgresDataIn = (folder: string) => postgresFolder(dataDirIn(folder));

const backupIn = (folder: string) => join(folder, 'base-backup');
/** The path of a file of WAL in the archive, which survives the server; PostgreSQL replaces `%f`. */
const archivedIn = (folder: string) => join(folder, 'archive', '%f');

/** PostgreSQL archives its WAL into the folder of the drill. A file is complete or absent, and never replaced. */
export const archiving = async (folder: string) => {
  const file = archivedIn(folder);
  const archive = join(folder, 'archive');
  await mkdir(archive, { mode: 0o700 });
  const { uid = -1, gid = -1 } = postgresAccount(archive);
  await chown(archive, uid, gid);
  return {
    postgresSettings: {
      archive_mode: 'on',
      archive_timeout: ARCHIVE_TIMEOUT_SECONDS,
      archive_command: `test ! -f ${file} && cp %p ${file}.part && mv ${file}.part ${file}`,
    },
  };
};

/** Copies a folder with its owners. */
const copy = (from: string, to: string) =>
  runCommand('cp', ['-a', from, to], { env: { PATH: '/usr/bin:/bin' } });

/** Writes a file into a data directory, as the account of its server. */
async function writeInto(dataDir: string, name: string, text: string): Promise<void> {
  const { uid, gid } = await stat(dataDir);
  await writeFile(join(dataDir, name), text, { mode: 0o600 });
  await chown(join(dataDir, name), uid, gid);
}

/**
 * Takes a base backup of the running PostgreSQL between `pg_backup_start` and `pg_backup_stop`, which one
 * connection must call. Source: PostgreSQL's manual, "Making a Base Backup Using the Low Level API".
 */
export async function backUp({ cluster, folder }: Run): Promise<void> {
  const startedAt = performance.now();
  const backup = backupIn(folder);
  await withConnection(cluster.adminDatabaseUrl, async (sql) => {
    await sql`SELECT pg_backup_start('drill', fast => true)`;
    // It fails for files that the server deletes meanwhile: the WAL says so, too.
    await copy(postgresDataIn(folder), backup);
    await rm(join(backup, 'postmaster.pid'));
    await rm(join(backup, 'pg_wal'), { recursive: true });
    const [stopped] = await sql<{ labelfile: string }[]>`
      SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)`;
    await writeInto(backup, 'backup_label', stopped?.labelfile ?? '');
  });
  report(`base backup under load in ${inSeconds(performance.now() - startedAt)}`);
}

/**
 * Puts the base backup into a data directory, for a server that recovers from archived WAL, or that
 * follows a primary.
 *
 * @param settings of PostgreSQL, such as `restore_command`
 */
export async function restoreBackup(
  { folder }: Run,
  dataDir: string,
  role: 'recovery' | 'standby',
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const { succeeded, output } = await copy(backupIn(folder), dataDir);
  if (!succeeded) throw new Error(output);
  const { uid, gid } = await stat(dataDir);
  await mkdir(join(dataDir, 'pg_wal'), { mode: 0o700 });
  await chown(join(dataDir, 'pg_wal'), uid, gid);
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(dataDir, 'postgresql.auto.conf'), lines.join(''));
  await writeInto(dataDir, `${role}.signal`, '');
}

/** Puts the base backup into the data directory of the run, to be recovered from the archive. */
export const restoreFromArchive = (run: Run) =>
  restoreBackup(run, postgresDataIn(run.folder), 'recovery', {
    restore_command: `cp ${archivedIn(run.folder)} %p`,
  });

/**
 * Waits until a server has recovered and accepts writes.
 *
 * @returns the time of the last transaction that it has, in Unix milliseconds
 */
export function untilRecovered(adminUrl: string): Promise<number> {
  return waitFor('PostgreSQL has recovered', RECOVERED_WITHIN_MS, () =>
    withConnection(adminUrl, async (sql) => {
      const [row] = await sql<{ recovering: boolean; lastAt: Date | null }[]>`
        SELECT pg_is_in_recovery() AS recovering, pg_last_xact_replay_timestamp() AS "lastAt"`;
      return row?.recovering === false && (row.lastAt?.getTime() ?? 0);
    }),
  );
}

/** Starts PostgreSQL on a data directory beside the one of the shape. It stops when the drill ends. */
export async function startOtherPostgres({ guard, ends }: Drill, dataDir: string) {
  const port = await freePort();
  const { adminUrl, stop } = await startEmbeddedPostgres({
    dataDir,
    port,
    guard,
    logFile: `${dataDir}.log`,
    log: report,
    settings: { max_connections: MAX_CONNECTIONS },
  });
  ends.defer(stop);
  return { adminUrl, port, address: `127.0.0.1:${port}` };
}

/** A PostgreSQL that runs beside the one of the shape. */
export type OtherPostgres = Awaited<ReturnType<typeof startOtherPostgres>>;
