import { ok } from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { linksOf, namesOf } from '../faults/run.ts';
import { untilDone } from '../load/simulator.ts';
import { withConnection } from '../postgres/databases.ts';
import { startEmbeddedPostgres } from '../postgres/server.ts';
import { freePort } from '../processes/ports.ts';
import { startTcpProxy } from '../processes/tcp-proxy.ts';
import { backUp, postgresDataIn, restoreBackup } from './support/base-backup.ts';
import { LOAD_MS, type Drill, type Outcome } from './support/load.ts';
import { loseDatabase } from './support/lost-data.ts';
import { inSeconds, report } from './support/report.ts';

/** How far an asynchronous standby is behind when the primary is killed. */
const LAG_MS = 3000;
/** That of the production-like shape: a copy with fewer does not start. */
const MAX_CONNECTIONS = 200;

/** PostgreSQL keeps enough WAL for a standby that connects a moment after its base backup. */
export const replicating = async () => ({ postgresSettings: { wal_keep_size: '512MB' } });

/**
 * Kills the primary under load while a standby with asynchronous replication is seconds behind. What was
 * acknowledged in these seconds is lost by the service and by Temporal; the gateway still has it.
 */
export async function databaseFailover(drill: Drill): Promise<Outcome> {
  await drill.startLoad();
  const { link, port, adminUrl } = await startStandby(drill);
  await delay(LOAD_MS);
  const behindSinceMs = Date.now();
  await link.refuse();
  await delay(LAG_MS);
  return loseDatabase(drill, async () => {
    const startedAt = performance.now();
    await withConnection(adminUrl, (sql) => sql`SELECT pg_promote()`);
    const names = [...namesOf(drill, 'api', 'worker'), 'temporal' as const];
    for (const each of linksOf(drill, names, 'postgres')) each.retarget(`127.0.0.1:${port}`);
    drill.useDatabaseOn(port);
    report(`the standby is promoted in ${inSeconds(performance.now() - startedAt)}`);
    return behindSinceMs;
  });
}

/**
 * Starts a standby from a base backup of the running primary, and waits until it streams. It stops when the drill ends.
 *
 * @returns also the network between primary and standby
 */
async function startStandby(drill: Drill) {
  const { cluster, folder, guard, ends } = drill;
  const primary = new URL(cluster.adminDatabaseUrl);
  // `all` in pg_hba.conf does not include replication.
  const rule = 'host replication postgres 127.0.0.1/32 scram-sha-256\n';
  await appendFile(join(postgresDataIn(folder), 'pg_hba.conf'), rule);
  await withConnection(primary.href, (sql) => sql`SELECT pg_reload_conf()`);
  const link = await startTcpProxy(primary.host);
  ends.defer(() => link.stop());
  await backUp(drill);
  const dataDir = join(folder, 'standby');
  const login = `user=${primary.username} password=${primary.password}`;
  const setting = `primary_conninfo = 'host=127.0.0.1 port=${link.port} ${login}'`;
  await restoreBackup(drill, dataDir, 'standby', setting);
  const port = await freePort();
  const { adminUrl, stop } = await startEmbeddedPostgres({
    dataDir,
    port,
    guard,
    logFile: `${dataDir}.log`,
    log: report,
    settings: { max_connections: MAX_CONNECTIONS },
  });
  ends.defer(stop);
  await withConnection(primary.href, (sql) =>
    untilDone(async () => {
      const streaming = await sql`
        SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'async'`;
      ok(streaming.length > 0, 'the standby does not stream');
    }),
  );
  report('a standby follows the primary with asynchronous replication');
  return { link, port, adminUrl };
}
