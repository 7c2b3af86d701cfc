import type { Sql } from '../src/db/client.ts';
import { cpuMsOf } from './harness/cpu-time.ts';

/** Bytes on disk and of write-ahead log, transactions and CPU milliseconds so far, by database. */
export type Storage = Record<string, number>;

/** How the databases of a benchmark's PostgreSQL are called in results. */
const TITLES: Record<string, string> = {
  merchant_orders: 'service',
  temporal: 'Temporal',
  temporal_visibility: "Temporal's visibility",
};

/**
 * Reads what PostgreSQL has written so far. The write-ahead log is that of the connections that are
 * open now: those of the service and of Temporal stay open under load.
 *
 * @param ownerSql a superuser's connection to the service's database
 */
export async function readStorage(ownerSql: Sql): Promise<Storage> {
  // Pages that are full once are written as a whole after a checkpoint: each round begins with one.
  await ownerSql`CHECKPOINT`;
  const rows = await ownerSql<{ name: string; bytes: number; transactions: number; wal: number }[]>`
    SELECT datname AS name, pg_database_size(datname)::float8 AS bytes,
      (xact_commit + xact_rollback)::float8 AS transactions,
      (SELECT coalesce(sum(written.wal_bytes), 0)::float8
        FROM pg_stat_activity AS activity, pg_stat_get_backend_wal(activity.pid) AS written
        WHERE activity.datname = pg_stat_database.datname) AS wal
    FROM pg_stat_database`;
  const storage: Storage = {};
  for (const { name, bytes, transactions, wal } of rows) {
    const title = TITLES[name];
    if (title === undefined) continue;
    storage[`${title}: disk space`] = bytes;
    storage[`${title}: write-ahead log`] = wal;
    storage[`${title}: transactions`] = transactions;
  }
  return { ...storage, ...(await cpuTimes(ownerSql)), ...(await tableBytes(ownerSql)) };
}

/** CPU milliseconds so far of the open connections, by the database that they use. */
async function cpuTimes(ownerSql: Sql): Promise<Storage> {
  const rows = await ownerSql<{ name: string; pid: number }[]>`
    SELECT datname AS name, pid FROM pg_stat_activity WHERE datname IS NOT NULL`;
  const times = cpuMsOf(Object.fromEntries(rows.map(({ pid }) => [pid, pid])));
  const storage: Storage = {};
  for (const { name, pid } of rows) {
    const title = TITLES[name];
    if (title === undefined) continue;
    storage[`${title}: CPU`] = (storage[`${title}: CPU`] ?? 0) + (times[pid] ?? 0);
  }
  return storage;
}

async function tableBytes(ownerSql: Sql): Promise<Storage> {
  const rows = await ownerSql<{ name: string; bytes: number }[]>`
    SELECT relname AS name, pg_total_relation_size(oid)::float8 AS bytes
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;
  return Object.fromEntries(rows.map(({ name, bytes }) => [`table ${name}`, bytes]));
}

export function unitOf(title: string): string {
  if (title.endsWith('transactions')) return 'transactions of PostgreSQL for each order';
  if (title.endsWith('CPU')) return 'CPU ms of PostgreSQL for each order';
  return 'bytes for each order';
}

/** What each order has added. Tables that have not grown are left out. */
export function growthOf(before: Storage, after: Storage, orders: number): Storage {
  const growth = Object.entries(after).map(
    ([title, value]) => [title, (value - (before[title] ?? 0)) / orders] as const,
  );
  return Object.fromEntries(
    growth.filter(([title, value]) => !title.startsWith('table ') || value > 1),
  );
}
