import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { kill, namesOf } from '../faults/run.ts';
import { LOAD_MS, whileStopped, type Drill, type Outcome } from './support/load.ts';
import {
  ARCHIVE_TIMEOUT_SECONDS,
  backUp,
  postgresDataIn,
  restoreFromArchive,
  untilRecovered,
} from './support/postgres.ts';
import { lostSteps, recoverLost } from './support/proof.ts';
import { firstOf, inSeconds, prove, report } from './support/report.ts';

/** A file is archived within a moment after its time is over. */
const ARCHIVE_DELAY_MS = 3000;

/**
 * Destroys PostgreSQL with the data of the service and of Temporal under load, and restores both from
 * a base backup and archived WAL.
 */
export async function backupAndRestore(drill: Drill): Promise<Outcome> {
  const startedAtMs = Date.now() - LOAD_MS;
  const { cluster, folder } = drill;
  await backUp(drill);
  await delay(2 * LOAD_MS);
  await kill(drill, 'postgres');
  const killedAtMs = Date.now();
  await rm(postgresDataIn(folder), { recursive: true });
  report(`PostgreSQL killed under load and its data directory deleted, with its WAL`);
  let recoveredToMs = 0;
  await whileStopped(drill, ['temporal', ...namesOf(drill, 'api', 'worker')], async () => {
    await restoreFromArchive(drill);
    await cluster.member('postgres').start();
    recoveredToMs = await untilRecovered(cluster.adminDatabaseUrl);
  });
  const backAtMs = Date.now();
  report(`back ${inSeconds(backAtMs - killedAtMs)} after the kill`);
  await drill.finishLoad();
  await proveRecoveryPoint(drill, recoveredToMs, killedAtMs);
  return recoverLost(drill, { fromMs: recoveredToMs, toMs: backAtMs }, startedAtMs);
}

/** Proves that only what was not archived yet is lost. */
async function proveRecoveryPoint(
  drill: Drill,
  recoveredToMs: number,
  killedAtMs: number,
): Promise<void> {
  const archived = await lostSteps(drill, drill.orders, recoveredToMs);
  prove(
    'Every step acknowledged before the end of the archive is restored',
    archived.lost.length === 0,
    `${archived.total} steps, ${archived.lost.length} lost ${firstOf(archived.lost)}`,
  );
  const { lost } = await lostSteps(drill, drill.orders, killedAtMs);
  const lateMs = killedAtMs - recoveredToMs;
  const mostMs = ARCHIVE_TIMEOUT_SECONDS * 1000 + ARCHIVE_DELAY_MS;
  prove(
    `The archive ends at most ${inSeconds(mostMs)} before the kill`,
    lateMs <= mostMs,
    `${inSeconds(lateMs)}, in which ${lost.length} acknowledged steps are lost with archive_timeout = ${ARCHIVE_TIMEOUT_SECONDS} s`,
  );
}
