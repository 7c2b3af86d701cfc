import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { kill, linksOf, namesOf, startMembers, stopMembers } from '../faults/run.ts';
import { startLoad, type Drill, type DrillOrder } from './support/load.ts';
import {
  archiveEverything,
  backUp,
  postgresDataIn,
  prepareRecovery,
  restoreAside,
  untilRecovered,
} from './support/postgres.ts';
import {
  expectSecondPayments,
  lostSteps,
  proveNothingLost,
  recoverAll,
  repeatLostCalls,
} from './support/proof.ts';
import { firstOf, inSeconds, prove, report, waitFor } from './support/report.ts';

/** The `archive_timeout` of `backup-and-restore`. */
export const ARCHIVE_TIMEOUT_SECONDS = 5;
/** A file is archived within a moment after its time is over. */
const ARCHIVE_DELAY_MS = 3000;
const LOAD_BEFORE_BACKUP_MS = 5000;
const LOAD_AFTER_BACKUP_MS = 15_000;
const LOAD_MS = 12_000;
const CONCURRENCY = 4;
const MINUTE_MS = 60_000;
/** Temporal's list of workflows lags behind. */
const RECOVERED_WITHIN_MS = 90_000;

/**
 * Destroys PostgreSQL with the data of the service and of Temporal under load, and restores both from
 * a base backup and archived WAL.
 */
export async function backupAndRestore(drill: Drill): Promise<void> {
  const startedAtMs = Date.now();
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_BEFORE_BACKUP_MS);
  await backUp(drill);
  await delay(LOAD_AFTER_BACKUP_MS);
  await kill(drill, 'postgres');
  const killedAtMs = Date.now();
  await rm(postgresDataIn(drill.folder), { recursive: true });
  report(`PostgreSQL killed under load and its data directory deleted, with its WAL`);
  const recoveredToMs = await restoreInPlace(drill);
  const backAtMs = Date.now();
  report(`back ${inSeconds(backAtMs - killedAtMs)} after the kill`);
  await load.finish();
  await proveRecoveryPoint(drill, { recoveredToMs, killedAtMs });
  const lostTime = { fromMs: recoveredToMs, toMs: backAtMs };
  expectSecondPayments(drill, lostTime);
  await recoverAll(drill, startedAtMs);
  await repeatLostCalls(drill);
  await proveNothingLost(drill, { alerts: true, lost: [lostTime], missingWorkflows: true });
}

/** @returns the time of the last transaction that was restored, in Unix milliseconds */
async function restoreInPlace(drill: Drill): Promise<number> {
  const { cluster, folder } = drill;
  const names = namesOf(drill, 'api', 'worker');
  // They hold newer data in memory than the restored server has.
  await stopMembers(drill, [...names, 'temporal']);
  await prepareRecovery(drill, postgresDataIn(folder));
  await cluster.member('postgres').start();
  const recoveredToMs = await untilRecovered(cluster.adminDatabaseUrl);
  await cluster.member('temporal').start();
  await startMembers(drill, names);
  return recoveredToMs;
}

/** Proves that only what was not archived yet is lost. */
async function proveRecoveryPoint(
  drill: Drill,
  { recoveredToMs, killedAtMs }: { recoveredToMs: number; killedAtMs: number },
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

/** Makes orders before, between and after a base backup and a time. @returns the time, and the load that still runs */
async function loadAroundBackup(drill: Drill) {
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS / 2);
  await backUp(drill);
  await delay(LOAD_MS / 2);
  const targetMs = Date.now();
  await delay(LOAD_MS);
  return { load, targetMs };
}

/**
 * Restores Temporal's databases as they were at an earlier time, while the service's database is
 * current. Orders that Temporal has lost entirely get a new workflow; others adopt their steps.
 */
export async function temporalRestore(drill: Drill): Promise<void> {
  const { cluster } = drill;
  const { load, targetMs } = await loadAroundBackup(drill);
  await archiveEverything(drill);
  // Workers keep workflows in memory as they were before the restore.
  await stopMembers(drill, [...namesOf(drill, 'worker'), 'temporal']);
  const { address } = await restoreAside(drill, targetMs);
  cluster.link('temporal', 'postgres').retarget(address);
  await cluster.member('temporal').start();
  await startMembers(drill, namesOf(drill, 'worker'));
  await recoverAll(drill, targetMs - MINUTE_MS);
  await load.finish();
  await proveNothingLost(drill, { missingWorkflows: true });
}

/**
 * Restores the service's database as it was at an earlier time, while Temporal, on another server,
 * keeps its data. The steps that the database has lost come back from the workflows.
 */
export async function databaseRestore(drill: Drill): Promise<void> {
  const { load, targetMs } = await loadAroundBackup(drill);
  await load.finish();
  await archiveEverything(drill);
  await switchTo(drill, targetMs);
  const backAtMs = Date.now();
  const sinceMs = targetMs - MINUTE_MS;
  await recoverAll(drill, sinceMs);
  const created = (order: DrillOrder) => order.acknowledged.createdAtMs ?? Infinity;
  const kept = drill.orders.filter((order) => created(order) < targetMs);
  report(`${kept.length} of ${drill.orders.length} orders were created before the restored time`);
  await proveRecovered(drill, kept, sinceMs);
  await proveAlerted(drill, sinceMs);
  await repeatLostCalls(drill);
  await proveNothingLost(drill, {
    alerts: true,
    lost: [{ fromMs: targetMs, toMs: backAtMs }],
  });
}

/** APIs and workers stop, and start with the restored server. */
async function switchTo(drill: Drill, targetMs: number): Promise<void> {
  const names = namesOf(drill, 'api', 'worker');
  await stopMembers(drill, names);
  const { address, port } = await restoreAside(drill, targetMs);
  for (const link of linksOf(drill, names, 'postgres')) link.retarget(address);
  drill.useDatabaseOn(port);
  await startMembers(drill, names);
}

/** Recovers again until nothing is missing, or the time is up. @returns what is missing then */
async function recoverUntilNone(
  drill: Drill,
  sinceMs: number,
  findMissing: () => Promise<string[]>,
): Promise<string[]> {
  let missing: string[] = [];
  const found = waitFor('nothing is missing', RECOVERED_WITHIN_MS, async () => {
    missing = await findMissing();
    if (missing.length === 0) return true;
    await recoverAll(drill, sinceMs);
    return false;
  });
  await found.catch(() => undefined);
  return missing;
}

/** Proves that the workflows have returned every step of the orders that the restored database has. */
async function proveRecovered(
  drill: Drill,
  orders: readonly DrillOrder[],
  sinceMs: number,
): Promise<void> {
  let total = 0;
  const lost = await recoverUntilNone(drill, sinceMs, async () => {
    const steps = await lostSteps(drill, orders);
    total = steps.total;
    return steps.lost;
  });
  prove(
    'Every acknowledged step is recorded',
    lost.length === 0,
    `${orders.length} orders, ${total} steps, ${lost.length} lost ${firstOf(lost)}`,
  );
  const [again] = await drill.withSql(
    (sql) => sql<{ steps: number }[]>`
      SELECT count(*)::integer AS steps FROM order_steps WHERE details->>'recovered' = 'true'`,
  );
  report(`${again?.steps} of the steps were recorded again from the workflows`);
}

/** Proves that an alert names each order whose row the restored database never had. */
async function proveAlerted(drill: Drill, sinceMs: number): Promise<void> {
  const rows = await drill.withSql(
    (sql) => sql<{ id: string }[]>`SELECT order_number AS id FROM orders`,
  );
  const kept = new Set(rows.map(({ id }) => id));
  const lost = drill.orders.map((order) => order.orderNumber).filter((one) => !kept.has(one));
  const silent = await recoverUntilNone(drill, sinceMs, async () => {
    const named = await ordersWithoutRow(drill);
    return lost.filter((orderNumber) => !named.includes(orderNumber));
  });
  prove(
    'An alert names every order whose row is lost',
    silent.length === 0,
    `${lost.length} orders ${firstOf(silent)}`,
  );
}

/** The orders that an alert names because the database has lost their rows. */
async function ordersWithoutRow({ withSql }: Drill): Promise<string[]> {
  const alerts = await withSql(
    (sql) => sql<{ orderNumber: string }[]>`
      SELECT coalesce(details->>'orderNumber', subject) AS order_number FROM alerts
      WHERE kind IN ('order_without_row', 'payment_without_order') AND cleared_at IS NULL`,
  );
  return alerts.map(({ orderNumber }) => orderNumber);
}
