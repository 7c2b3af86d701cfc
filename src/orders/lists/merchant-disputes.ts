import type { Sql } from '../../db/client.ts';
import type { OrderRow } from '../rows.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import { readRows } from './page-orders.ts';
import { isUnderReview } from '../steps/disputes.ts';
import type { OrderOwner } from './search-orders.ts';

/**
 * Lists of orders by their latest dispute: all that have not ended, those that wait for the merchant's answer, those
 * that wait for an operator's decision, and those that have ended.
 */
export const DISPUTE_LISTS = ['running', 'unanswered', 'underReview', 'ended'] as const;
export type DisputeList = (typeof DISPUTE_LISTS)[number];

/**
 * Lists a merchant's orders by their latest dispute: running ones by deadline, the nearest first; ended ones the
 * latest first. The rows have both sides' texts.
 *
 * @param part.after lists the orders after this one
 */
export async function listMerchantDisputes(
  sql: Sql,
  { merchantId, environment }: OrderOwner,
  list: DisputeList,
  part: ListPart,
): Promise<ListPage<OrderRow>> {
  const isRunning = list !== 'ended';
  const key = isRunning ? sql`d.respond_by, d.order_number` : sql`d.ended_at, d.order_number`;
  // A dispute that runs is the latest of its order.
  const conditions = {
    running: sql`d.ended_at IS NULL`,
    unanswered: sql`d.ended_at IS NULL AND d.evidence_at IS NULL`,
    underReview: sql`d.ended_at IS NULL AND ${isUnderReview(sql)}`,
    ended: sql`d.ended_at IS NOT NULL AND NOT EXISTS (SELECT FROM disputes later
      WHERE later.order_number = d.order_number AND later.number > d.number)`,
  };
  const listed = sql`disputes d
    WHERE d.merchant_id = ${merchantId} AND d.environment = ${environment} AND ${conditions[list]}`;
  const after = sql`AND (${key}) ${isRunning ? sql`>` : sql`<`}
    (SELECT ${key} FROM ${listed} AND d.order_number = ${part.after ?? ''})`;
  const found = await sql<{ orderNumber: string }[]>`
    SELECT d.order_number FROM ${listed} ${part.after === undefined ? sql`` : after}
    ORDER BY ${isRunning ? key : sql`d.ended_at DESC, d.order_number DESC`}
    LIMIT ${rowsToRead(part)}`;
  const page = pageOf(found, part);
  return {
    ...page,
    rows: await readRows(
      sql,
      page.rows.map(({ orderNumber }) => orderNumber),
    ),
  };
}
