import type { Sql } from '../db/client.ts';
import { rupeesFromPaise } from '../domain/index.ts';
import { csvOf } from '../http/responses/csv.ts';
import { LINE_FIELDS, presentLine } from './statement-presenter.ts';
import type { MoneyOwner, StatementPage, StatementPlace } from './statement.ts';
import { readStatement } from './statement.ts';

const LINES_PER_PART = 1000;

/**
 * A day's statement as CSV, with the fields of the JSON as columns: the opening balance, every line, and the
 * closing balance, which of a day that is not closed is called `balance_for_now`. It reads a thousand lines
 * at a time, each when the reader asks for more.
 *
 * @throws DomainError `NOT_FOUND` for a day that has not begun, before the first text
 */
export async function statementCsv(
  sql: Sql,
  owner: MoneyOwner,
  day: string,
  linesPerPart = LINES_PER_PART,
): Promise<AsyncGenerator<string>> {
  const read = (after?: StatementPlace) =>
    readStatement(sql, owner, day, { after, size: linesPerPart });
  return csvParts(await read(), read);
}

async function* csvParts(
  first: StatementPage,
  read: (after: StatementPlace) => Promise<StatementPage>,
): AsyncGenerator<string> {
  yield csvOf([LINE_FIELDS, balanceRow('opening_balance', first.openingPaise)]);
  // Of a day that is not closed, lines may be added between two parts.
  let balancePaise = first.openingPaise;
  for (let page = first; ;) {
    if (page.lines.length > 0) yield csvOf(page.lines.map((line) => cellsOf(presentLine(line))));
    for (const line of page.lines) balancePaise += line.balanceChangePaise;
    if (page.next === null) break;
    page = await read(page.next);
  }
  const name = first.isClosed ? 'closing_balance' : 'balance_for_now';
  yield csvOf([balanceRow(name, balancePaise)]);
}

/** As wide as the lines are. */
function balanceRow(type: string, paise: number) {
  const cells = { type, amount: rupeesFromPaise(paise) };
  return cellsOf({ ...Object.fromEntries(LINE_FIELDS.map((name) => [name, null])), ...cells });
}

/** Amounts have two decimals; an absent value is empty. */
const cellsOf = (row: Readonly<Record<string, string | number | null>>) =>
  Object.values(row).map((value) => (typeof value === 'number' ? value.toFixed(2) : (value ?? '')));
