import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { kill, linksOf, namesOf } from '../faults/run.ts';
import { LOAD_MS, repeatLost, whileStopped, type Drill, type Outcome } from './support/load.ts';
import {
  backUp,
  postgresDataIn,
  prepareRecovery,
  restoreAside,
  untilRecovered,
} from './support/postgres.ts';
import { lostSteps, recoverAll, recoverLost } from './support/proof.ts';
import { firstOf, inSeconds, prove, report, waitFor } from './support/report.ts';

/** The `archive_timeout` of `backup-and-restore`. */
export const ARCHIVE_TIMEOUT_SECONDS = 5;
/** A file is archived within a moment after its time is over. */
const ARCHIVE_DELAY_MS = 3000;
const MINUTE_MS = 60_000;
/** Temporal's list of workflows lags behind. */
const RECOVERED_WITHIN_MS = 90_000;

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
    await prepareRecovery(drill, postgresDataIn(folder));
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

/** Lets orders be made before, between and after a base backup and a time. @returns the time */
async function backUpAndContinue(drill: Drill): Promise<number> {
  await backUp(drill);
  await delay(LOAD_MS);
  const targetMs = Date.now();
  await delay(LOAD_MS);
  return targetMs;
}

/**
 * Restores Temporal's databases as they were at an earlier time, while the service's database is
 * current. Orders that Temporal has lost entirely get a new workflow; others adopt their steps.
 */
export async function temporalRestore(drill: Drill): Promise<Outcome> {
  const targetMs = await backUpAndContinue(drill);
  await whileStopped(drill, ['temporal', ...namesOf(drill, 'worker')], async () => {
    const { address } = await restoreAside(drill, targetMs);
    drill.cluster.link('temporal', 'postgres').retarget(address);
  });
  await recoverAll(drill, targetMs - MINUTE_MS);
  await drill.finishLoad();
  return { allowed: { missingWorkflows: true } };
}

/**
 * Restores the service's database as it was at an earlier time, while Temporal, on another server,
 * keeps its data. The steps that the database has lost come back from the workflows.
 */
export async function databaseRestore(drill: Drill): Promise<Outcome> {
  const targetMs = await backUpAndContinue(drill);
  await drill.finishLoad();
  const names = ['worker-1', 'worker-2', 'api-1', 'api-2'] as const;
  await whileStopped(drill, names, async () => {
    const { address, port } = await restoreAside(drill, targetMs);
    for (const link of linksOf(drill, names, 'postgres')) link.retarget(address);
    drill.useDatabaseOn(port);
  });
  const lost = [{ fromMs: targetMs, toMs: Date.now() }];
  await proveReturned(drill, targetMs);
  await repeatLost(drill);
  return { allowed: { alerts: true, lost } };
}

/**
 * Proves that the workflows have returned every step of the orders that the restored database has, and that an
 * alert names each order whose row it never had.
 */
async function proveReturned(drill: Drill, targetMs: number): Promise<void> {
  const older = drill.orders.filter(
    ({ acknowledged: { createdAtMs = Infinity } }) => createdAtMs < targetMs,
  );
  let missing: string[] = [];
  await waitFor('nothing is missing', RECOVERED_WITHIN_MS, async () => {
    await recoverAll(drill, targetMs - MINUTE_MS);
    const { lost } = await lostSteps(drill, older);
    missing = [...lost, ...(await ordersWithoutAlert(drill))];
    return missing.length === 0;
  }).catch(() => undefined);
  prove(
    'Every acknowledged step is recorded, and an alert names every order whose row is lost',
    missing.length === 0,
    `${older.length} of ${drill.orders.length} orders were created before the restored time ${firstOf(missing)}`,
  );
}

/** The orders of the drill that the database does not have, and no alert names. */
async function ordersWithoutAlert({ withSql, orders }: Drill): Promise<string[]> {
  const known = await withSql(
    (sql) => sql<{ orderNumber: string }[]>`
      SELECT order_number FROM orders
      UNION SELECT coalesce(details->>'orderNumber', subject) FROM alerts
      WHERE kind IN ('order_without_row', 'payment_without_order') AND cleared_at IS NULL`,
  );
  const named = new Set(known.map(({ orderNumber }) => orderNumber));
  return orders.map(({ orderNumber }) => orderNumber).filter((one) => !named.has(one));
}
