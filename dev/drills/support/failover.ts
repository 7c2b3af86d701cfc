import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startTcpProxy, type TcpProxy } from '../../processes/tcp-proxy.ts';
import { restoreBaseBackup, takeBaseBackup } from './base-backup.ts';
import { postgresDataIn, type Drill } from './cluster.ts';
import { kill, linksOf, namesOf } from './members.ts';
import { inSeconds, report } from './report.ts';
import { asAdmin, startOtherPostgres, untilRecovered, type OtherPostgres } from './restore.ts';
import { waitFor } from './wait.ts';

const STREAMING_WITHIN_MS = 30_000;
const NAME = 'standby';

/** PostgreSQL keeps enough WAL for a standby that connects a moment after its base backup. */
export const REPLICATION = async () => ({ postgresSettings: { wal_keep_size: '512MB' } });

/** A physical copy that follows the primary. */
export interface Standby extends OtherPostgres {
  /** The network between primary and standby. */
  readonly link: TcpProxy;
}

/** Lets the superuser replicate: `all` in pg_hba.conf does not include that. */
async function allowReplication({ cluster, folder }: Drill): Promise<void> {
  const rule = 'host replication postgres 127.0.0.1/32 scram-sha-256\n';
  await appendFile(join(postgresDataIn(folder), 'pg_hba.conf'), rule);
  await asAdmin(cluster.adminDatabaseUrl, (sql) => sql`SELECT pg_reload_conf()`);
}

/** Starts a standby from a base backup of the running primary, and waits until it streams. */
export async function startStandby(
  drill: Drill,
  mode: 'synchronous' | 'asynchronous',
): Promise<Standby> {
  const { cluster, folder } = drill;
  const primary = new URL(cluster.adminDatabaseUrl);
  await allowReplication(drill);
  const link = await startTcpProxy(primary.host);
  const backup = join(folder, 'standby-backup');
  await takeBaseBackup(cluster.adminDatabaseUrl, postgresDataIn(folder), backup);
  const dataDir = join(folder, NAME);
  const login = `user=${primary.username} password=${primary.password}`;
  await restoreBaseBackup(backup, dataDir, 'standby', {
    primary_conninfo: `host=127.0.0.1 port=${link.port} ${login} application_name=${NAME}`,
  });
  const server = await startOtherPostgres(drill, dataDir);
  await asAdmin(cluster.adminDatabaseUrl, async (sql) => {
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
export async function failOver(drill: Drill, standby: Standby): Promise<number> {
  const names = [...namesOf(drill, 'api', 'worker'), 'temporal' as const];
  const killed = kill(drill, 'postgres');
  const killedAtMs = Date.now();
  await killed;
  await asAdmin(standby.adminUrl, (sql) => sql`SELECT pg_promote()`);
  await untilRecovered(standby.adminUrl);
  for (const link of linksOf(drill, names, 'postgres')) link.retarget(standby.address);
  drill.useDatabaseOn(standby.port);
  report(
    `the standby is promoted ${inSeconds(Date.now() - killedAtMs)} after the primary was killed`,
  );
  return killedAtMs;
}
