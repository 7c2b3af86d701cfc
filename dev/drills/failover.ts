import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kill, linksOf, namesOf } from '../faults/run.ts';
import { withConnection } from '../postgres/databases.ts';
import { startTcpProxy, type TcpProxy } from '../processes/tcp-proxy.ts';
import { LOAD_MS, whileStopped, type Drill, type Outcome } from './support/load.ts';
import {
  backUp,
  postgresDataIn,
  restoreBackup,
  startOtherPostgres,
  untilRecovered,
  type OtherPostgres,
} from './support/postgres.ts';
import { lostSteps, recoverLost } from './support/proof.ts';
import { inSeconds, prove, report, waitFor } from './support/report.ts';

/** How far an asynchronous standby is behind when the primary is killed. */
const LAG_MS = 3000;
const STREAMING_WITHIN_MS = 30_000;

/** PostgreSQL keeps enough WAL for a standby that connects a moment after its base backup. */
export const replicating = async () => ({ postgresSettings: { wal_keep_size: '512MB' } });

/** A physical copy that follows the primary. */
interface Standby extends OtherPostgres {
  /** The network between primary and standby. */
  readonly link: TcpProxy;
}

/**
 * Kills the primary under load while a standby with asynchronous replication is seconds behind. What was
 * acknowledged in these seconds is lost by the service and by Temporal; the gateway still has it.
 */
export async function databaseFailover(drill: Drill): Promise<Outcome> {
  const startedAtMs = Date.now() - LOAD_MS;
  const standby = await startStandby(drill);
  const behindSinceMs = Date.now();
  await standby.link.refuse();
  await delay(LAG_MS);
  const killedAtMs = Date.now();
  await kill(drill, 'postgres');
  // Temporal without its database tries again and again to delete tasks that it has done. For a standby that is behind
  // some of them are still to be done.
  await whileStopped(drill, ['temporal', ...namesOf(drill, 'api', 'worker')], () =>
    promote(drill, standby),
  );
  const backAtMs = Date.now();
  report(`back ${inSeconds(backAtMs - killedAtMs)} after the primary was killed`);
  await drill.finishLoad();
  const { lost: early } = await lostSteps(drill, drill.orders, behindSinceMs);
  const { lost } = await lostSteps(drill, drill.orders, killedAtMs);
  prove('Nothing is lost from before the standby was behind', early.length === 0);
  report(`${lost.length} acknowledged steps are lost with a standby ${inSeconds(LAG_MS)} behind`);
  return recoverLost(drill, { fromMs: behindSinceMs, toMs: backAtMs }, startedAtMs);
}

/** Starts a standby from a base backup of the running primary, waits until it streams, and lets it follow a while. */
async function startStandby(drill: Drill): Promise<Standby> {
  const { cluster, folder } = drill;
  const primary = new URL(cluster.adminDatabaseUrl);
  // `all` in pg_hba.conf does not include replication.
  const rule = 'host replication postgres 127.0.0.1/32 scram-sha-256\n';
  await appendFile(join(postgresDataIn(folder), 'pg_hba.conf'), rule);
  await withConnection(primary.href, (sql) => sql`SELECT pg_reload_conf()`);
  const link = await startTcpProxy(primary.host);
  drill.ends.defer(() => link.stop());
  await backUp(drill);
  const dataDir = join(folder, 'standby');
  const login = `user=${primary.username} password=${primary.password}`;
  await restoreBackup(drill, dataDir, 'standby', {
    primary_conninfo: `host=127.0.0.1 port=${link.port} ${login}`,
  });
  const server = await startOtherPostgres(drill, dataDir);
  await withConnection(primary.href, (sql) =>
    waitFor('the standby streams', STREAMING_WITHIN_MS, async () => {
      const rows = await sql`
        SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'async'`;
      return rows.length > 0;
    }),
  );
  report('a standby follows the primary with asynchronous replication');
  await delay(LOAD_MS);
  return { ...server, link };
}

/** Promotes the standby, and sends everything that used the primary there. */
async function promote(drill: Drill, standby: Standby): Promise<void> {
  const startedAt = performance.now();
  const names = [...namesOf(drill, 'api', 'worker'), 'temporal' as const];
  await withConnection(standby.adminUrl, (sql) => sql`SELECT pg_promote()`);
  await untilRecovered(standby.adminUrl);
  for (const link of linksOf(drill, names, 'postgres')) link.retarget(standby.address);
  drill.useDatabaseOn(standby.port);
  report(`the standby is promoted in ${inSeconds(performance.now() - startedAt)}`);
}
