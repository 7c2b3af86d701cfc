/** A value of a table; an absent one is shown as a dash. */
type Cell = string | number | boolean | Date | null | undefined;

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-';
  return cell instanceof Date
    ? timeText(cell)
    : replaceControlCharacters(String(cell).replaceAll(/[\t\n]/g, ' '));
}

/**
 * Replaces control characters, which could manipulate the terminal, with U+FFFD. The joiners U+200C
 * and U+200D stay: Indian scripts need them, and they are safe on a terminal.
 */
function replaceControlCharacters(text: string): string {
  return text.replaceAll(/(?![\t\n\u200c\u200d])\p{C}/gu, '\u{FFFD}');
}

/** `2026-11-21 00:36:12Z`: to the second, in UTC. */
export function timeText(time: Date | string): string {
  const iso = typeof time === 'string' ? time : time.toISOString();
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** What each column of a table shows of a row, by the column's title. */
type Columns<Row> = Readonly<Record<string, (row: Row) => Cell>>;

/** Formats the rows of a listing, which says so if there are none. */
export function list<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  return table(rows, columns) || 'None.';
}

/**
 * Formats rows as a table with aligned columns; columns of numbers are right-aligned.
 *
 * @returns '' if there are no rows
 */
export function table<Row>(rows: readonly Row[], columns: Columns<Row>): string {
  if (rows.length === 0) return '';
  const shown = Object.entries(columns).map(([title, cellOf]) => {
    const cells = rows.map((row) => textOf(cellOf(row)));
    const width = Math.max(title.length, ...cells.map((cell) => cell.length));
    const isNumber = cells.every((cell) => /^-?\d+(\.\d+)?$/.test(cell));
    return [title, ...cells].map((cell) => (isNumber ? cell.padStart(width) : cell.padEnd(width)));
  });
  const lines = [-1, ...rows.keys()].map((row) => shown.map((cells) => cells[row + 1]).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Formats name-value pairs, one per line; pairs with the value `undefined` are omitted. */
export function facts(pairs: Readonly<Record<string, Cell>>): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${textOf(value)}`).join('\n');
}

/** Joins blocks of text with an empty line between them; absent and empty blocks are omitted. */
export function blocks(...parts: readonly (string | false | null | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n\n');
}

/** Indents a text of a buyer, merchant or endpoint, without control characters. */
export function quoted(text: string): string {
  return replaceControlCharacters(text)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

/** The hint that a list is incomplete; false if it is complete. */
export function moreHint(hasMore: boolean): string | false {
  return hasMore && 'There are more: narrow the search, or raise --limit.';
}

/** An amount in paise as rupees with two decimals. */
export function rupees(amountPaise: number): string {
  return (amountPaise / 100).toFixed(2);
}

/** `INR 499.50` */
export const inr = (amountPaise: number): string => `INR ${rupees(amountPaise)}`;
