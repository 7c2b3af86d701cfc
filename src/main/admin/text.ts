/** A cell: what is absent shows as a dash. */
type Cell = string | number | boolean | Date | null | undefined;

function textOf(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-';
  return cell instanceof Date
    ? timeText(cell)
    : replaceControlCharacters(String(cell).replaceAll(/[\t\n]/g, ' '));
}

/**
 * Control characters show as what they are, not what they do. Scripts of India need the joiners
 * (U+200C, U+200D), which do nothing to a terminal.
 */
function replaceControlCharacters(text: string): string {
  return text.replaceAll(/(?![\t\n\u200c\u200d])\p{C}/gu, '\u{FFFD}');
}

/** `2026-11-21 00:36:12Z`: to the second, in UTC. */
export function timeText(time: Date | string): string {
  const iso = typeof time === 'string' ? time : time.toISOString();
  return iso.replace('T', ' ').replace(/\.\d+Z$/, 'Z');
}

/** Aligned columns under their titles; columns of numbers are aligned to the right. */
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

/** One fact a line, the names aligned; facts that do not apply (`undefined`) are left out. */
export function facts(pairs: Readonly<Record<string, Cell>>): string {
  const shown = Object.entries(pairs).filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${textOf(value)}`).join('\n');
}

/** Blocks of text with an empty line between them; those that do not apply are left out. */
export function blocks(...parts: readonly (string | false | null | undefined)[]): string {
  return parts.filter((part) => typeof part === 'string' && part !== '').join('\n\n');
}

/** A stranger's text, safe on a terminal. */
export function quoted(text: string): string {
  return replaceControlCharacters(text)
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

/** Says that a list was cut off, if it was. */
export function moreHint(hasMore: boolean): string | false {
  return hasMore && 'There are more: say more of what to look for, or raise --limit.';
}

/** Rupees of an amount in paise, with both decimals. */
export function rupees(amountPaise: number): string {
  return (amountPaise / 100).toFixed(2);
}
