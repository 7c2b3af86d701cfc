import type { Sql } from '../../src/db/client.ts';

/** The statements that take the most time, and all others of their database together. */
const LISTED = 12;
const TEXT_LENGTH = 80;

/** A statement as `pg_stat_statements` counts it. */
export interface Statement {
  readonly database: string;
  /** The beginning of the statement, in one line. */
  readonly text: string;
  readonly calls: number;
  /** Planning and execution, with the waits for locks. */
  readonly ms: number;
}

/** The statements since the last reset, the slowest first, and for each database the sum of all. */
export async function readStatements(sql: Sql): Promise<Statement[]> {
  const sums = await sql<Statement[]>`
    SELECT datname AS database, 'all statements' AS text, sum(calls)::float8 AS calls,
      sum(total_exec_time + total_plan_time) AS ms
    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
    GROUP BY datname ORDER BY ms DESC`;
  const statements = await sql<Statement[]>`
    SELECT datname AS database, left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), ${TEXT_LENGTH}) AS text,
      calls::float8 AS calls, total_exec_time + total_plan_time AS ms
    FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid
    ORDER BY ms DESC LIMIT ${LISTED}`;
  return [...sums, ...statements];
}
