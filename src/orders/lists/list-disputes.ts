import type { Sql } from '../../db/client.ts';
import type { OrderRow } from '../rows.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import type { OrderOwner } from './search-orders.ts';
import { readFound } from './search-orders.ts';

/**
 * A merchant's lists of orders by their latest dispute: all that have not ended, those that wait for the merchant's
 * answer, those that wait for an operator's decision, and those that have ended.
 */
export const DISPUTE_LISTS = ['running', 'unanswered', 'underReview', 'ended'] as const;
export type DisputeList = (typeof DISPUTE_LISTS)[number];

/**
 * Lists orders by their latest dispute: running ones by deadline, the nearest first; ended ones the latest first.
 * The rows have both sides' texts.
 *
 * @param owner of the orders; an absent field matches all
 * @param list `open`: those whose order is DISPUTE_OPEN
 * @param part.after lists the orders after this one
 */
export async function listDisputes(
  sql: Sql,
  { merchantId, environment }: Partial<OrderOwner>,
  list: DisputeList | 'open',
  part: ListPart,
): Promise<ListPage<OrderRow>> {
  const isRunning = list !== 'ended';
  const key = isRunning ? sql`d.respond_by, d.order_number` : sql`d.ended_at, d.order_number`;
  // A dispute is open until it has evidence, unless an operator decides it. The condition is on the dispute, because
  // the planner underestimates how many of the disputes' orders have such a status, and would sort all running ones.
  const isUnderReview = sql`(d.evidence_at IS NOT NULL OR d.operator_decides)`;
  // A dispute that runs is the latest of its order.
  const conditions = {
    running: sql`d.ended_at IS NULL`,
    open: sql`d.ended_at IS NULL AND NOT ${isUnderReview}`,
    unanswered: sql`d.ended_at IS NULL AND d.evidence_at IS NULL`,
    underReview: sql`d.ended_at IS NULL AND ${isUnderReview}`,
    ended: sql`d.ended_at IS NOT NULL AND NOT EXISTS (SELECT FROM disputes later
      WHERE later.order_number = d.order_number AND later.number > d.number)`,
  };
  const listedIn = (one: keyof typeof conditions) => sql`disputes d
    WHERE ${conditions[one]}
      ${merchantId === undefined ? sql`` : sql`AND d.merchant_id = ${merchantId}`}
      ${environment === undefined ? sql`` : sql`AND d.environment = ${environment}`}`;
  // The dispute of `after` may be under review meanwhile, and then still says where the next part begins.
  const after = sql`AND (${key}) ${isRunning ? sql`>` : sql`<`} (SELECT ${key}
    FROM ${listedIn(isRunning ? 'running' : 'ended')} AND d.order_number = ${part.after ?? ''})`;
  const found = await sql<{ orderNumber: string }[]>`
    SELECT d.order_number FROM ${listedIn(list)} ${part.after === undefined ? sql`` : after}
    ORDER BY ${isRunning ? key : sql`d.ended_at DESC, d.order_number DESC`}
    LIMIT ${rowsToRead(part)}`;
  const page = pageOf(found, part);
  return { ...page, rows: await readFound(sql, page.rows) };
}
