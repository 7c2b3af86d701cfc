import { ok } from 'node:assert/strict';
import { chown, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { untilDone } from '../load/simulator.ts';
import { postgresAccount } from '../postgres/account.ts';
import { withConnection } from '../postgres/databases.ts';
import { backUp, postgresDataIn, restoreBackup } from './support/base-backup.ts';
import { LOAD_MS, type Drill, type Outcome } from './support/load.ts';
import { loseDatabase } from './support/lost-data.ts';
import { inSeconds, prove } from './support/report.ts';

const ARCHIVE_TIMEOUT_SECONDS = 5;
/** And a moment in which the file is copied. */
const MOST_LOST_MS = ARCHIVE_TIMEOUT_SECONDS * 1000 + 3000;

/** The path of a file of WAL in the archive, which survives the server; PostgreSQL replaces `%f`. */
const archivedIn = (folder: string) => join(folder, 'archive', '%f');

/** PostgreSQL archives its WAL into the folder of the drill. A file is complete or absent, and never replaced. */
export async function archiving(folder: string) {
  const file = archivedIn(folder);
  const archive = dirname(file);
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
}

/**
 * Destroys PostgreSQL with the data of the service and of Temporal under load, and restores both from
 * a base backup and archived WAL.
 */
export async function backupAndRestore(drill: Drill): Promise<Outcome> {
  const { cluster, folder } = drill;
  await drill.startLoad();
  await backUp(drill);
  await delay(2 * LOAD_MS);
  return loseDatabase(drill, async (killedAtMs) => {
    const dataDir = postgresDataIn(folder);
    await rm(dataDir, { recursive: true });
    const setting = `restore_command = 'cp ${archivedIn(folder)} %p'`;
    await restoreBackup(drill, dataDir, 'recovery', setting);
    await cluster.member('postgres').start();
    const recoveredToMs = await untilRecovered(cluster.adminDatabaseUrl);
    const lateMs = killedAtMs - recoveredToMs;
    const claim = `The archive ends at most ${inSeconds(MOST_LOST_MS)} before the kill`;
    prove(claim, lateMs <= MOST_LOST_MS, inSeconds(lateMs));
    return recoveredToMs;
  });
}

/** Waits until a server accepts writes. @returns the time of the last transaction that it has, in Unix milliseconds */
const untilRecovered = (adminUrl: string): Promise<number> =>
  untilDone(() =>
    withConnection(adminUrl, async (sql) => {
      const [row] = await sql<{ recovering: boolean; lastAt: Date | null }[]>`
        SELECT pg_is_in_recovery() AS recovering, pg_last_xact_replay_timestamp() AS "lastAt"`;
      ok(row?.recovering === false, 'PostgreSQL still recovers');
      return row.lastAt?.getTime() ?? 0;
    }),
  );
