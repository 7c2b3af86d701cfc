import postgres from 'postgres';
import { COLUMN_NAMES } from '../../src/db/client.ts';

/** A connection that keeps the text of each statement it sends. */
export function countingSql(url: string) {
  const statements: string[] = [];
  const sql = postgres(url, {
    max: 1,
    onnotice: () => {},
    transform: COLUMN_NAMES,
    debug: (_connection, query) => void statements.push(query.trim()),
  });
  return { sql, statements };
}

/**
 * The processor time of an action, in milliseconds, of all threads of the process: the least of
 * several runs, which other work of the machine hardly changes.
 */
export async function cpuMsOf(action: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 5; run += 1) {
    const before = process.cpuUsage();
    await action();
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return Math.min(...times);
}

/** How many rows each table of the accounts has. */
export async function countRows(sql: postgres.Sql) {
  const [row] = await sql<[Record<string, number>]>`
    SELECT (SELECT count(*) FROM audit_log)::int AS audit,
      (SELECT count(*) FROM account_attempts)::int AS attempts,
      (SELECT count(*) FROM sign_ups)::int AS sign_ups,
      (SELECT count(*) FROM one_time_links)::int AS links`;
  return row;
}
