import { lchownSync, readdirSync } from 'node:fs';
import { appendFile, copyFile, cp, mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { postgresAccount } from '../../postgres/account.ts';
import { withConnection } from '../../postgres/databases.ts';

/** Folders whose content belongs to the running server: a copy has them empty. */
const WITHOUT_CONTENT = [
  'pg_wal',
  'pg_replslot',
  'pg_dynshmem',
  'pg_notify',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
];
const NOT_COPIED = /^(postmaster\.(pid|opts)|pgsql_tmp.*|pg_internal\.init|.*\.signal)$/;

/**
 * Copies the files of a running server between `pg_backup_start` and `pg_backup_stop`, which one
 * connection must call. Source: PostgreSQL's manual, "Making a Base Backup Using the Low Level API".
 *
 * @param adminUrl of the superuser
 * @param folder of the copy, which must not exist
 * @returns the number of bytes copied
 */
export function takeBaseBackup(adminUrl: string, dataDir: string, folder: string): Promise<number> {
  return withConnection(adminUrl, async (sql) => {
    await sql`SELECT pg_backup_start('drill', fast => true)`;
    const bytes = await copyFolder(dataDir, folder, true);
    const [stopped] = await sql<{ labelfile: string; spcmapfile: string }[]>`
      SELECT labelfile, spcmapfile FROM pg_backup_stop(wait_for_archive => false)`;
    await writeFile(join(folder, 'backup_label'), stopped?.labelfile ?? '', { mode: 0o600 });
    if (stopped?.spcmapfile) await writeFile(join(folder, 'tablespace_map'), stopped.spcmapfile);
    return bytes;
  });
}

async function copyFolder(from: string, to: string, isTop: boolean): Promise<number> {
  await mkdir(to, { mode: 0o700 });
  let bytes = 0;
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const { name } = entry;
    const [source, target] = [join(from, name), join(to, name)];
    if (NOT_COPIED.test(name)) continue;
    if (isTop && WITHOUT_CONTENT.includes(name)) await mkdir(target, { mode: 0o700 });
    else if (entry.isDirectory()) bytes += await copyFolder(source, target, false);
    else bytes += await copyOne(source, target);
  }
  return bytes;
}

async function copyOne(source: string, target: string): Promise<number> {
  try {
    await copyFile(source, target);
    return (await stat(target)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return 0; // The server has deleted it since the folder was listed, and the WAL says so.
  }
}

/** Lets PostgreSQL's account use a folder: under root, the server has another account. */
function giveToPostgres(folder: string): void {
  const { uid, gid } = postgresAccount(folder);
  if (uid === undefined || gid === undefined) return;
  for (const path of ['', ...(readdirSync(folder, { recursive: true }) as string[])]) {
    lchownSync(join(folder, path), uid, gid);
  }
}

/** What a restored server does with the backup when it starts. */
export type Role = 'recovery' | 'standby';

/**
 * Puts a base backup into a data directory, for a server that recovers from archived WAL, or that
 * follows a primary.
 *
 * @param settings of PostgreSQL, such as `restore_command`
 */
export async function restoreBaseBackup(
  backup: string,
  dataDir: string,
  role: Role,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  await cp(backup, dataDir, { recursive: true, preserveTimestamps: true });
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(dataDir, 'postgresql.auto.conf'), lines.join(''));
  await writeFile(join(dataDir, `${role}.signal`), '');
  giveToPostgres(dataDir);
}

/** A folder for archived WAL, which survives the server. */
export interface Archive {
  /** What PostgreSQL runs for each finished file of WAL: complete or absent, and never replaced. */
  readonly archiveCommand: string;
  readonly restoreCommand: string;
}

/** The archive in a folder. */
export function archiveIn(folder: string): Archive {
  const file = join(folder, '%f');
  return {
    archiveCommand: `test ! -f ${file} && cp %p ${file}.part && mv ${file}.part ${file}`,
    restoreCommand: `cp ${file} %p`,
  };
}

/** Creates the folder of an archive. */
export async function createArchive(folder: string): Promise<Archive> {
  await mkdir(folder, { mode: 0o700 });
  giveToPostgres(folder);
  return archiveIn(folder);
}
