import type { OrderRow } from './rows.ts';

/** Pages, files and the command line show this in place of an erased buyer's data. */
export const ERASED = 'Erased';

/** Replaces the buyer's data of an erased order by a mark, for people. The API's order has empty texts there. */
export function markErased<Row extends Pick<OrderRow, 'erasedAt'>>(row: Row): Row {
  if (row.erasedAt === null) return row;
  const marks = { description: ERASED, buyerName: ERASED, buyerEmail: ERASED, buyerPhone: ERASED };
  return { ...row, ...marks };
}
