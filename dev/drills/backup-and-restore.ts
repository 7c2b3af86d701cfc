import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { postgresDataIn, type Drill } from './support/cluster.ts';
import { startLoad } from './support/load.ts';
import { kill, namesOf, startMembers, stopMembers } from './support/members.ts';
import { lostSteps, proveNothingLost, repeatLostCalls } from './support/proof.ts';
import { firstOf, inSeconds, prove, report } from './support/report.ts';
import { recoverAll } from './support/recover.ts';
import { archiving, backUp, prepareRecovery, untilRecovered } from './support/restore.ts';

const ARCHIVE_TIMEOUT_SECONDS = 5;
/** A file is archived within a moment after its time is over. */
const ARCHIVE_DELAY_MS = 3000;
const LOAD_BEFORE_BACKUP_MS = 5000;
const LOAD_AFTER_BACKUP_MS = 15_000;
const CONCURRENCY = 4;

/** How its shape differs from the default. */
export const options = archiving(ARCHIVE_TIMEOUT_SECONDS);

/**
 * Destroys PostgreSQL with the data of the service and of Temporal under load, and restores both from
 * a base backup and archived WAL.
 */
export async function run(drill: Drill): Promise<void> {
  const startedAtMs = Date.now();
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_BEFORE_BACKUP_MS);
  await backUp(drill);
  await delay(LOAD_AFTER_BACKUP_MS);
  await kill(drill, 'postgres');
  const killedAtMs = Date.now();
  await rm(postgresDataIn(drill.folder), { recursive: true });
  report(`PostgreSQL killed under load and its data directory deleted, with its WAL`);
  const recoveredToMs = await restore(drill);
  const backAtMs = Date.now();
  report(`back ${inSeconds(backAtMs - killedAtMs)} after the kill`);
  await load.finish();
  await proveRecoveryPoint(drill, { recoveredToMs, killedAtMs });
  await recoverAll(drill, startedAtMs);
  await repeatLostCalls(drill);
  await proveNothingLost(drill, {
    alerts: true,
    lost: [{ fromMs: recoveredToMs, toMs: backAtMs }],
    missingWorkflows: true,
  });
}

/** @returns the time of the last transaction that was restored, in Unix milliseconds */
async function restore(drill: Drill): Promise<number> {
  const { cluster, folder } = drill;
  // They hold newer data in memory than the restored server has.
  const clients = [...namesOf(drill, 'api', 'worker'), 'temporal' as const];
  await stopMembers(drill, clients);
  await prepareRecovery(drill, postgresDataIn(folder));
  await cluster.member('postgres').start();
  const recoveredToMs = await untilRecovered(cluster.adminDatabaseUrl);
  await cluster.member('temporal').start();
  await startMembers(drill, namesOf(drill, 'api', 'worker'));
  return recoveredToMs;
}

/** Proves that only what was not archived yet is lost. */
async function proveRecoveryPoint(
  { withSql, orders }: Drill,
  { recoveredToMs, killedAtMs }: { recoveredToMs: number; killedAtMs: number },
): Promise<void> {
  const archived = await withSql((sql) => lostSteps(sql, orders, recoveredToMs));
  prove(
    'Every step acknowledged before the end of the archive is restored',
    archived.lost.length === 0,
    `${archived.total} steps, ${archived.lost.length} lost ${firstOf(archived.lost)}`.trim(),
  );
  const { lost } = await withSql((sql) => lostSteps(sql, orders, killedAtMs));
  const lateMs = killedAtMs - recoveredToMs;
  prove(
    `The archive ends at most ${inSeconds(ARCHIVE_TIMEOUT_SECONDS * 1000 + ARCHIVE_DELAY_MS)} before the kill`,
    lateMs <= ARCHIVE_TIMEOUT_SECONDS * 1000 + ARCHIVE_DELAY_MS,
    `${inSeconds(lateMs)}, in which ${lost.length} acknowledged steps are lost with archive_timeout = ${ARCHIVE_TIMEOUT_SECONDS} s`,
  );
}
