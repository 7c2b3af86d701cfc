import type { OrderRow } from './rows.ts';

/** What pages, files and the command line show where a buyer's data was. */
export const ERASED = 'Erased';

/**
 * An order for people to read, with a mark in place of the buyer's data if it was erased. The API's
 * order has empty texts there.
 */
export function markErased<Row extends Pick<OrderRow, 'erasedAt'>>(row: Row): Row {
  if (row.erasedAt === null) return row;
  const marks = { description: ERASED, buyerName: ERASED, buyerEmail: ERASED, buyerPhone: ERASED };
  return { ...row, ...marks };
}
