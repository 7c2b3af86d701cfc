import type { Sql } from '../db/client.ts';

/** The lines that one statement adds up: far below its time limit. */
const LINES_PER_STATEMENT = 100_000;

/**
 * Adds the lines of the ledger up to sums of a merchant's day, which {@link readMoneyDays} reads. The
 * newest lines stay outside until the run after the next: see the SQL function `seal_ledger_lines`.
 *
 * @returns the number of lines that are sealed now
 */
export async function sealLedgerLines(
  sql: Sql,
  linesPerStatement = LINES_PER_STATEMENT,
): Promise<number> {
  let sealed = 0;
  for (;;) {
    const [row] = await sql<[{ lines: number }]>`
      SELECT seal_ledger_lines(${linesPerStatement}) AS lines`;
    if (row.lines === 0) break;
    sealed += row.lines;
  }
  return sealed;
}
