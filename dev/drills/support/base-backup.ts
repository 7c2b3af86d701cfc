import { appendFile, chown, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dataDirIn, type Run } from '../../faults/run.ts';
import { withConnection } from '../../postgres/databases.ts';
import { runCommand } from '../../processes/run-command.ts';
import { postgresFolder } from '../../start/data-dir.ts';
import { inSeconds, report } from './report.ts';

/** Where the PostgreSQL of a run keeps its data. */
export const postgresDataIn = (folder: string) => postgresFolder(dataDirIn(folder));

const backupIn = (folder: string) => join(folder, 'base-backup');

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
 * @param setting of PostgreSQL, such as `restore_command = '…'`
 */
export async function restoreBackup(
  { folder }: Run,
  dataDir: string,
  role: 'recovery' | 'standby',
  setting: string,
): Promise<void> {
  const { succeeded, output } = await copy(backupIn(folder), dataDir);
  if (!succeeded) throw new Error(output);
  const { uid, gid } = await stat(dataDir);
  await mkdir(join(dataDir, 'pg_wal'), { mode: 0o700 });
  await chown(join(dataDir, 'pg_wal'), uid, gid);
  await appendFile(join(dataDir, 'postgresql.auto.conf'), `${setting}\n`);
  await writeInto(dataDir, `${role}.signal`, '');
}
