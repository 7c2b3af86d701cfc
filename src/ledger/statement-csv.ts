import type { Sql } from '../db/client.ts';
import { rupeesFromPaise } from '../domain/index.ts';
import { UTF_8_MARK, csvOf, reference } from '../http/responses/csv.ts';
import type { CsvCell } from '../http/responses/csv.ts';
import { tableTimeText } from '../pages/format.ts';
import { LINE_FIELDS, presentLine } from './statement-presenter.ts';
import type { PresentedLine } from './statement-presenter.ts';
import type { MoneyOwner, StatementPage, StatementPlace } from './statement.ts';
import { readStatement } from './statement.ts';

const LINES_PER_PART = 1000;

/** `program`: the values of the JSON. `person`: the times and references that the page shows. */
export type StatementReader = 'program' | 'person';

const TIMES = new Set(['booked_at', 'happened_at']);
const REFERENCES = new Set(['merchant_order_id', 'utr', 'payout_utr']);

/**
 * A day's statement as CSV. Its columns are the fields of the JSON. It has the opening balance, every line and the
 * closing balance, which is called `balance_for_now` if the day is not closed. It reads a thousand lines at a time,
 * each when the reader asks for more.
 *
 * @throws DomainError `NOT_FOUND` for a day that has not begun, before the first text
 */
export async function statementCsv(
  sql: Sql,
  owner: MoneyOwner,
  day: string,
  { reader, linesPerPart = LINES_PER_PART }: { reader: StatementReader; linesPerPart?: number },
): Promise<AsyncGenerator<string>> {
  const read = (after?: StatementPlace) =>
    readStatement(sql, owner, day, { after, size: linesPerPart });
  return csvParts(await read(), read, reader);
}

async function* csvParts(
  first: StatementPage,
  read: (after: StatementPlace) => Promise<StatementPage>,
  reader: StatementReader,
): AsyncGenerator<string> {
  const isForPerson = reader === 'person';
  const cellsOf = isForPerson ? cellsForPerson : cellsForProgram;
  const names = LINE_FIELDS.map((name) => (isForPerson && TIMES.has(name) ? `${name}_ist` : name));
  yield (
    (isForPerson ? UTF_8_MARK : '') +
      csvOf([names, balanceRow('opening_balance', first.openingPaise)])
  );
  // On a day that is not closed, lines may be added between two parts.
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

/** A balance as a row with all columns of a line. */
function balanceRow(type: string, paise: number): CsvCell[] {
  const cells: Record<string, CsvCell> = { type, amount: rupeesFromPaise(paise) };
  return LINE_FIELDS.map((name) => cells[name] ?? '');
}

const cellsForProgram = (line: PresentedLine): CsvCell[] =>
  Object.values(line).map((value) => value ?? '');

const cellsForPerson = (line: PresentedLine): CsvCell[] =>
  Object.entries(line).map(([name, value]) => {
    if (TIMES.has(name)) return tableTimeText(new Date(String(value)));
    return REFERENCES.has(name) ? reference(value === null ? null : String(value)) : (value ?? '');
  });
