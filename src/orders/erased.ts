import { createHash } from 'node:crypto';
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

/**
 * What an erased order keeps of an Idempotency-Key, which may be a buyer's address: enough to recognise
 * a repeat. The SQL function `erased_key` is the same. No client can send it, because it has a space.
 *
 * @param scope the merchant id, or the order number for keys of one order
 */
export function erasedKeyOf(scope: string, idempotencyKey: string): string {
  return `erased ${createHash('sha256').update(`${scope} ${idempotencyKey}`).digest('hex')}`;
}
