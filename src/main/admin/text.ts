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

/** Formats a table with aligned columns; columns of numbers are right-aligned. */
export function table(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return 'None.';
  const lines = [titles, ...rows.map((row) => row.map(textOf))];
  const widths = titles.map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  const isNumber = titles.map((_, column) =>
    rows.every((row) => /^-?\d+(\.\d+)?$/.test(textOf(row[column]))),
  );
  return lines
    .map((line) =>
      line
        .map((text, column) => {
          const width = widths[column] ?? 0;
          return isNumber[column] ? text.padStart(width) : text.padEnd(width);
        })
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Formats name-value pairs, one per line; pairs with the value `undefined` are omitted. */
export function facts(pairs: Readonly<Record<string, Cell>>): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${textOf(value)}`).join('\n');
}

/** Joins blocks of text with an empty line between them; absent blocks are omitted. */
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
