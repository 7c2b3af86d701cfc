import { join } from 'node:path';
import { dataDirIn, type Run } from '../../faults/run.ts';
import { cacheRoot } from '../../files/cache.ts';
import { withConnection } from '../../postgres/databases.ts';
import { startEmbeddedPostgres } from '../../postgres/server.ts';
import { freePort } from '../../processes/ports.ts';
import { postgresFolder } from '../../start/data-dir.ts';
import { archiveIn, createArchive, restoreBaseBackup, takeBaseBackup } from './base-backup.ts';
import { inSeconds, report, waitFor } from './report.ts';

const ARCHIVED_WITHIN_MS = 30_000;
const RECOVERED_WITHIN_MS = 120_000;

/** That of the production-like shape: a copy with fewer does not start. */
const MAX_CONNECTIONS = 200;

/** Where the PostgreSQL of a run keeps its data. */
export const postgresDataIn = (folder: string) => postgresFolder(dataDirIn(folder));

const archiveFolder = (folder: string) => join(folder, 'archive');
const backupFolder = (folder: string) => join(folder, 'base-backup');

/** PostgreSQL archives its WAL into the folder of the drill. */
export const archiving = (archiveTimeoutSeconds: number) => async (folder: string) => ({
  postgresSettings: {
    archive_mode: 'on',
    archive_timeout: archiveTimeoutSeconds,
    archive_command: (await createArchive(archiveFolder(folder))).archiveCommand,
  },
});

/** Takes a base backup of the running PostgreSQL. */
export async function backUp({ cluster, folder }: Run): Promise<void> {
  const startedAt = performance.now();
  const from = postgresDataIn(folder);
  const bytes = await takeBaseBackup(cluster.adminDatabaseUrl, from, backupFolder(folder));
  const took = inSeconds(performance.now() - startedAt);
  report(`base backup under load: ${Math.round(bytes / 1e6)} MB in ${took}`);
}

/** Waits until everything committed so far is in the archive. */
export async function archiveEverything({ cluster }: Run): Promise<void> {
  await withConnection(cluster.adminDatabaseUrl, async (sql) => {
    const [switched] = await sql<{ file: string }[]>`
      SELECT pg_walfile_name(pg_switch_wal()) AS file`;
    const file = switched?.file ?? '';
    await waitFor(`${file} is archived`, ARCHIVED_WITHIN_MS, async () => {
      const [row] = await sql<{ done: boolean }[]>`
        SELECT last_archived_wal >= ${file} AS done FROM pg_stat_archiver`;
      return row?.done ?? false;
    });
  });
}

/** Puts the base backup into a data directory, to be recovered from the archive. */
export async function prepareRecovery(
  { folder }: Run,
  dataDir: string,
  targetMs?: number,
): Promise<void> {
  const { restoreCommand } = archiveIn(archiveFolder(folder));
  await restoreBaseBackup(backupFolder(folder), dataDir, 'recovery', {
    restore_command: restoreCommand,
    ...(targetMs !== undefined && {
      // PostgreSQL has not loaded the abbreviations of time zones yet, of which Z is one.
      recovery_target_time: new Date(targetMs).toISOString().replace('Z', '+00'),
      recovery_target_action: 'promote',
    }),
  });
}

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

/** A PostgreSQL that runs beside the one of the shape. */
export interface OtherPostgres {
  readonly adminUrl: string;
  readonly port: number;
  readonly address: string;
  stop(): Promise<void>;
}

/** Starts PostgreSQL on a data directory that was restored beside the one of the shape. */
export async function startOtherPostgres({ guard }: Run, dataDir: string): Promise<OtherPostgres> {
  const port = await freePort();
  const { adminUrl, stop } = await startEmbeddedPostgres({
    dataDir,
    port,
    guard,
    logFile: `${dataDir}.log`,
    cacheRoot: cacheRoot(),
    log: report,
    settings: { max_connections: MAX_CONNECTIONS },
  });
  return { adminUrl, port, address: `127.0.0.1:${port}`, stop };
}

/** Restores the base backup as it was at a time, on a server beside the one of the shape. */
export async function restoreAside(run: Run, targetMs: number): Promise<OtherPostgres> {
  const startedAt = performance.now();
  const dataDir = join(run.folder, 'restored');
  await prepareRecovery(run, dataDir, targetMs);
  const server = await startOtherPostgres(run, dataDir);
  await untilRecovered(server.adminUrl);
  const took = inSeconds(performance.now() - startedAt);
  report(`restored beside it, as of ${new Date(targetMs).toISOString()}, in ${took}`);
  return server;
}
