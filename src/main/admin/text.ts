/** `2026-11-21 00:36:12Z`: to the second, in UTC. */
export function timeText(time: Date | string): string {
  const iso = typeof time === 'string' ? time : time.toISOString();
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** `INR 499.50` */
export const inr = (amountPaise: number): string => `INR ${(amountPaise / 100).toFixed(2)}`;

/**
 * Replaces control characters, which could manipulate the terminal, with U+FFFD. The joiners U+200C
 * and U+200D stay: Indian scripts need them, and they are safe on a terminal.
 */
function replaceControlCharacters(text: string): string {
  return text.replaceAll(/(?![\t\n\u200c\u200d])\p{C}/gu, '\u{FFFD}');
}

/** A value as text by its name: amounts of paise as rupees, times without fractions, an absent one as a dash. */
function valueText(name: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return '-';
  if (typeof value === 'number' && name.endsWith('Paise')) return inr(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (value instanceof Date) return timeText(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text) ? timeText(text) : replaceControlCharacters(text);
}

/** The name of a value in words: `gateway payment id` for `gatewayPaymentId`, `amount` for `amountPaise`. */
function wordsOf(name: string): string {
  if (!/^[a-z]\w*$/.test(name)) return name;
  const words = name.replace(/Paise$/, '');
  return words.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/**
 * Formats rows as a table with aligned columns; columns of numbers and amounts are right-aligned.
 *
 * @param names the values of a row that it shows; all if absent
 * @returns '' if there are no rows
 */
export function table<Row extends object>(
  rows: readonly Row[],
  names?: readonly (keyof Row & string)[],
): string {
  const [first] = rows;
  if (!first) return '';
  const columns = (names ?? (Object.keys(first) as never[])).map((name: keyof Row & string) => {
    const title = wordsOf(name).toUpperCase();
    const cells = rows.map((row) => valueText(name, row[name]).replaceAll(/[\t\n]/g, ' '));
    const width = Math.max(title.length, ...cells.map((cell) => cell.length));
    const isNumber = cells.every((cell) => /^(INR )?-?\d+(\.\d+)?$/.test(cell));
    return [title, ...cells].map((cell) => (isNumber ? cell.padStart(width) : cell.padEnd(width)));
  });
  const lines = [-1, ...rows.keys()].map((row) =>
    columns.map((cells) => cells[row + 1]).join('  '),
  );
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Formats the rows of a listing, which says so if there are none. */
export const list: typeof table = (rows, names) => table(rows, names) || 'None.';

/** The names and texts of a record's values. Absent values and lists are omitted, a record's own are among them. */
function pairsOf(record: object): [name: string, text: string][] {
  return Object.entries(record).flatMap(([name, value]: [string, unknown]) => {
    if (value === null || value === undefined || Array.isArray(value)) return [];
    if (typeof value !== 'object' || value instanceof Date) {
      return [[wordsOf(name), valueText(name, value)]];
    }
    return pairsOf(value).map(([inner, text]) => [`${wordsOf(name)} ${inner}`, text]);
  });
}

/** Formats the single values of a record, one in a line with its name; see {@link table} for its lists. */
export function facts(record: object): string {
  const pairs = pairsOf(record);
  const width = Math.max(...pairs.map(([name]) => name.length));
  const indent = ' '.repeat(width + 2);
  const lines = pairs.map(([name, text]) => {
    const title = name.charAt(0).toUpperCase() + name.slice(1);
    return `${title.padEnd(width)}  ${text.replaceAll('\n', `\n${indent}`)}`;
  });
  return lines.join('\n');
}

/** Formats records that are too long for a table one below the other, each under its number. */
export function records(title: string, rows: readonly object[]): string {
  return blocks(...rows.map((row, index) => `${title} ${index + 1}\n${quoted(facts(row))}`));
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
