import { stringify } from 'csv-stringify/sync';

/**
 * Writes rows as CSV in the form that spreadsheets read (RFC 4180). A cell that a spreadsheet would take
 * for a formula begins with an apostrophe.
 */
export function csvOf(rows: readonly (readonly string[])[]): string {
  return stringify([...rows], { escape_formulas: true, record_delimiter: 'windows' });
}
