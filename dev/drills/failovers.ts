import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kill, linksOf, namesOf, startMembers, stopMembers } from '../faults/run.ts';
import { withConnection } from '../postgres/databases.ts';
import { startTcpProxy, type TcpProxy } from '../processes/tcp-proxy.ts';
import { restoreBaseBackup, takeBaseBackup } from './support/base-backup.ts';
import { startLoad, type Drill } from './support/load.ts';
import {
  postgresDataIn,
  startOtherPostgres,
  untilRecovered,
  type OtherPostgres,
} from './support/postgres.ts';
import {
  expectSecondPayments,
  lostSteps,
  proveBackSoon,
  proveNothingLost,
  recoverAll,
  repeatLostCalls,
} from './support/proof.ts';
import { inSeconds, prove, report, waitFor } from './support/report.ts';

const LOAD_MS = 10_000;
const CONCURRENCY = 4;
/** How far an asynchronous standby is behind when the primary is killed. */
const LAG_MS = 3000;
const STREAMING_WITHIN_MS = 30_000;
const NAME = 'standby';

/** PostgreSQL keeps enough WAL for a standby that connects a moment after its base backup. */
export const replicating = async () => ({ postgresSettings: { wal_keep_size: '512MB' } });

/** A physical copy that follows the primary. */
interface Standby extends OtherPostgres {
  /** The network between primary and standby. */
  readonly link: TcpProxy;
}

type Mode = 'synchronous' | 'asynchronous';

/** Kills the primary under load and promotes a standby with synchronous replication. */
export const databaseFailover = (drill: Drill) =>
  withStandby(drill, 'synchronous', async (standby, load) => {
    const killedAtMs = await failOver(drill, standby);
    await proveBackSoon(drill, killedAtMs);
    await delay(LOAD_MS);
    await load.finish();
    await proveNothingLost(drill);
  });

/**
 * Kills the primary under load while a standby with asynchronous replication is seconds behind. What was
 * acknowledged in these seconds is lost by the service and by Temporal; the gateway still has it.
 */
export async function asynchronousFailover(drill: Drill): Promise<void> {
  const startedAtMs = Date.now();
  await withStandby(drill, 'asynchronous', async (standby, load) => {
    const behindSinceMs = Date.now();
    await standby.link.refuse();
    await delay(LAG_MS);
    const names = namesOf(drill, 'api', 'worker');
    const killedAtMs = await failOver(drill, standby);
    // They hold newer data in memory than the standby has.
    await stopMembers(drill, [...names, 'temporal']);
    await drill.cluster.member('temporal').start();
    await startMembers(drill, names);
    const backAtMs = Date.now();
    report(`back ${inSeconds(backAtMs - killedAtMs)} after the primary was killed`);
    await load.finish();
    const { lost: early } = await lostSteps(drill, drill.orders, behindSinceMs);
    const { lost } = await lostSteps(drill, drill.orders, killedAtMs);
    prove('Nothing is lost from before the standby was behind', early.length === 0);
    report(`${lost.length} acknowledged steps are lost with a standby ${inSeconds(LAG_MS)} behind`);
    const lostTime = { fromMs: behindSinceMs, toMs: backAtMs };
    expectSecondPayments(drill, lostTime);
    await recoverAll(drill, startedAtMs);
    await repeatLostCalls(drill);
    await proveNothingLost(drill, { alerts: true, lost: [lostTime], missingWorkflows: true });
  });
}

/** Uses a standby that has followed the primary for a while under load. */
async function withStandby(
  drill: Drill,
  mode: Mode,
  use: (standby: Standby, load: ReturnType<typeof startLoad>) => Promise<void>,
): Promise<void> {
  const load = startLoad(drill, CONCURRENCY);
  await delay(LOAD_MS / 2);
  const standby = await startStandby(drill, mode);
  try {
    await delay(LOAD_MS);
    await use(standby, load);
  } finally {
    await standby.link.stop();
    await standby.stop();
  }
}

/** Starts a standby from a base backup of the running primary, and waits until it streams. */
async function startStandby(drill: Drill, mode: Mode): Promise<Standby> {
  const { cluster, folder } = drill;
  const primary = new URL(cluster.adminDatabaseUrl);
  // `all` in pg_hba.conf does not include replication.
  const rule = 'host replication postgres 127.0.0.1/32 scram-sha-256\n';
  await appendFile(join(postgresDataIn(folder), 'pg_hba.conf'), rule);
  await withConnection(primary.href, (sql) => sql`SELECT pg_reload_conf()`);
  const link = await startTcpProxy(primary.host);
  const backup = join(folder, 'standby-backup');
  await takeBaseBackup(primary.href, postgresDataIn(folder), backup);
  const dataDir = join(folder, NAME);
  const login = `user=${primary.username} password=${primary.password}`;
  await restoreBaseBackup(backup, dataDir, 'standby', {
    primary_conninfo: `host=127.0.0.1 port=${link.port} ${login} application_name=${NAME}`,
  });
  const server = await startOtherPostgres(drill, dataDir);
  await withConnection(primary.href, async (sql) => {
    if (mode === 'synchronous') {
      await sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${NAME}'`);
      await sql`SELECT pg_reload_conf()`;
    }
    const wanted = mode === 'synchronous' ? 'sync' : 'async';
    await waitFor(`the standby streams (${wanted})`, STREAMING_WITHIN_MS, async () => {
      const [row] = await sql<{ streams: boolean }[]>`
        SELECT state = 'streaming' AND sync_state = ${wanted} AS streams FROM pg_stat_replication
        WHERE application_name = ${NAME}`;
      return row?.streams ?? false;
    });
  });
  report(`a standby follows the primary with ${mode} replication`);
  return { ...server, link };
}

/**
 * Kills the primary, promotes the standby, and sends everything that used the primary there.
 *
 * @returns when the primary was killed, in Unix milliseconds
 */
async function failOver(drill: Drill, standby: Standby): Promise<number> {
  const names = [...namesOf(drill, 'api', 'worker'), 'temporal' as const];
  const killed = kill(drill, 'postgres');
  const killedAtMs = Date.now();
  await killed;
  await withConnection(standby.adminUrl, (sql) => sql`SELECT pg_promote()`);
  await untilRecovered(standby.adminUrl);
  for (const link of linksOf(drill, names, 'postgres')) link.retarget(standby.address);
  drill.useDatabaseOn(standby.port);
  report(
    `the standby is promoted ${inSeconds(Date.now() - killedAtMs)} after the primary was killed`,
  );
  return killedAtMs;
}
