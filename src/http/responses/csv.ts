import { stringify } from 'csv-stringify/sync';

/** A reference, such as a UTR: see {@link reference}. */
interface Reference {
  readonly reference: string;
}

/** Text, an amount in rupees, or a reference. */
export type CsvCell = string | number | Reference;

/**
 * A cell for a file that a person opens. As a bare text, spreadsheets drop the zeros at the start of `0042`, read a date
 * in `10-12` and a sum in `+919876543210`; as `="0042"` they show what was written.
 *
 * @param text empty or null for an empty cell
 */
export const reference = (text: string | null): CsvCell => (text ? { reference: text } : '');

/**
 * What a file that a person opens begins with: without this mark Excel does not read it as UTF-8, and shows
 * Hindi names as other signs.
 */
export const UTF_8_MARK = '\uFEFF';

const CAST = {
  number: (rupees: number) => rupees.toFixed(2),
  object: (cell: object) => ({
    value: `="${(cell as Reference).reference.replaceAll('"', '""')}"`,
    escape_formulas: false,
  }),
};

/**
 * Writes rows as CSV in the form that spreadsheets read (RFC 4180). A text that a spreadsheet would take
 * for a formula begins with an apostrophe.
 */
export function csvOf(rows: readonly (readonly CsvCell[])[]): string {
  return stringify([...rows], { cast: CAST, escape_formulas: true, record_delimiter: 'windows' });
}
