import type { Sql } from '../db/client.ts';

/** The most lines that one statement adds up. It stays far below the time limit of a statement. */
const LINES_PER_STATEMENT = 100_000;

/**
 * Adds up the ledger's lines by merchant and day; {@link readMoneyDays} reads the sums. The newest lines are left
 * for the run after the next: see the SQL function `seal_ledger_lines`.
 *
 * @returns the number of lines that this call sealed
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
