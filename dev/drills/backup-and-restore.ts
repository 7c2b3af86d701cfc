import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { postgresDataIn, withCluster, type Drill } from './support/cluster.ts';
import { startLoad, type LoadOrder } from './support/load.ts';
import { kill, namesOf, startMembers, stopMembers } from './support/members.ts';
import { lostSteps, openAlerts, proveMoney, proveEnded, repeatLostCalls } from './support/proof.ts';
import { firstOf, inSeconds, prove, report } from './support/report.ts';
import { recoverAll } from './support/recover.ts';
import { archiving, backUp, prepareRecovery, untilRecovered } from './support/restore.ts';
import { proveWorkflows } from './support/workflows.ts';

const ARCHIVE_TIMEOUT_SECONDS = 5;
/** A file is archived within a moment after its time is over. */
const ARCHIVE_DELAY_MS = 3000;
const LOAD_BEFORE_BACKUP_MS = 5000;
const LOAD_AFTER_BACKUP_MS = 15_000;
const CONCURRENCY = 4;

/**
 * Destroys PostgreSQL with the data of the service and of Temporal under load, and restores both from
 * a base backup and archived WAL.
 */
export function run(): Promise<void> {
  return withCluster(runOn, archiving(ARCHIVE_TIMEOUT_SECONDS));
}

async function runOn(drill: Drill): Promise<void> {
  const startedAtMs = Date.now();
  const load = startLoad(drill.api, CONCURRENCY);
  await delay(LOAD_BEFORE_BACKUP_MS);
  await backUp(drill);
  await delay(LOAD_AFTER_BACKUP_MS);
  await kill(drill, 'postgres');
  const killedAtMs = Date.now();
  await rm(postgresDataIn(drill.folder), { recursive: true });
  report(`PostgreSQL killed under load and its data directory deleted, with its WAL`);
  const recoveredToMs = await restore(drill);
  report(`back ${inSeconds(Date.now() - killedAtMs)} after the kill`);
  await load.finish();
  await proveRecoveryPoint(drill, load.orders, { recoveredToMs, killedAtMs });
  await recoverAll(drill, startedAtMs);
  await repeatLostCalls(drill, load.orders);
  await proveEnded(drill, load.orders);
  await proveWorkflows(drill);
  await proveMoney(drill);
  report(`open alerts: ${JSON.stringify(await openAlerts(drill))}`);
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
  { withSql }: Drill,
  orders: readonly LoadOrder[],
  { recoveredToMs, killedAtMs }: { recoveredToMs: number; killedAtMs: number },
): Promise<void> {
  const before = (atMs: number) =>
    orders.map((order) => ({
      ...order,
      acknowledged: order.acknowledged.filter((step) => step.atMs < atMs),
    }));
  const count = (some: readonly Pick<LoadOrder, 'acknowledged'>[]) =>
    some.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
  const archived = before(recoveredToMs);
  const lost = await withSql((sql) => lostSteps(sql, archived));
  prove(
    'Every step acknowledged before the end of the archive is restored',
    lost.length === 0,
    `${count(archived)} steps, ${lost.length} lost ${firstOf(lost)}`.trim(),
  );
  const lostAtAll = await withSql((sql) => lostSteps(sql, before(killedAtMs)));
  const lateMs = killedAtMs - recoveredToMs;
  prove(
    `The archive ends at most ${inSeconds(ARCHIVE_TIMEOUT_SECONDS * 1000 + ARCHIVE_DELAY_MS)} before the kill`,
    lateMs <= ARCHIVE_TIMEOUT_SECONDS * 1000 + ARCHIVE_DELAY_MS,
    `${inSeconds(lateMs)}, in which ${lostAtAll.length} acknowledged steps are lost with archive_timeout = ${ARCHIVE_TIMEOUT_SECONDS} s`,
  );
}
