import type { Fragment } from 'postgres';
import type { Sql } from '../../db/client.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import type { DisputeStatus, Environment } from '../../domain/index.ts';

/** A dispute that has not ended: it waits for the merchant, an operator or the refund. */
export interface RunningDispute {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  status: DisputeStatus;
  amountPaise: number;
  disputeCount: number;
  raisedAt: Date;
  /** The deadline: if the dispute is unresolved then, the buyer is refunded. */
  respondBy: Date;
  /** The refund has started: there is no decision left to make. */
  isRefunding: boolean;
}

/** Why an order can have no more disputes: it has had the most, or an operator decided for the merchant. */
export type DisputeLimit = 'most' | 'decided';

const MAX_DISPUTES = 5;

/** What a buyer reads who cannot raise another dispute. */
export const DISPUTE_LIMITS: Record<DisputeLimit, string> = {
  most: `Cannot raise dispute; the order has had ${MAX_DISPUTES} disputes`,
  decided: 'Cannot raise dispute; an operator has decided for the merchant',
};

/**
 * SQL: the {@link DisputeLimit} of a row of `orders`, null while it may have another dispute.
 *
 * @param isForBuyer an operator raises it, who may also after a decision for the merchant
 */
export function disputeLimitOf(sql: Sql, table: Fragment, isForBuyer = false): Fragment {
  return sql`(CASE WHEN ${table}.dispute_count >= ${MAX_DISPUTES} THEN 'most'
    WHEN ${!isForBuyer} AND EXISTS (SELECT FROM disputes past WHERE past.order_number = ${table}.order_number
      AND past.decided_for = 'merchant') THEN 'decided' END)`;
}

/** @returns why there can be no other dispute of the order; null if the limits are not reached */
export async function findDisputeLimit(
  sql: Sql,
  orderNumber: string,
  isForBuyer: boolean,
): Promise<DisputeLimit | null> {
  const [row] = await sql<{ reached: DisputeLimit | null }[]>`
    SELECT ${disputeLimitOf(sql, sql`o`, isForBuyer)} AS reached FROM orders o
    WHERE order_number = ${orderNumber}`;
  return row?.reached ?? null;
}

/** Which disputes to list; an absent field matches all. */
export interface DisputeFilter {
  status?: DisputeStatus | undefined;
  merchantId?: string | undefined;
  environment?: Environment | undefined;
}

/**
 * Lists disputes that have not ended, the nearest deadline first.
 *
 * @param part.after the number of the order of the dispute before the part
 */
export async function listRunningDisputes(
  sql: Sql,
  { status, merchantId, environment }: DisputeFilter,
  part: ListPart,
): Promise<ListPage<RunningDispute>> {
  const { after } = part;
  const found = await sql<{ orderNumber: string }[]>`
    SELECT order_number FROM disputes
    WHERE ended_at IS NULL
      ${status ? hasStatus(sql, status) : sql``}
      ${merchantId ? sql`AND merchant_id = ${merchantId}` : sql``}
      ${environment ? sql`AND environment = ${environment}` : sql``}
      ${
        after
          ? sql`AND (respond_by, order_number) > ((SELECT respond_by FROM disputes
        WHERE order_number = ${after} AND ended_at IS NULL), ${after})`
          : sql``
      }
    ORDER BY respond_by, order_number LIMIT ${rowsToRead(part)}`;
  const page = pageOf(found, part);
  return { ...page, rows: await readRunning(sql, page.rows) };
}

async function readRunning(
  sql: Sql,
  found: readonly { orderNumber: string }[],
): Promise<RunningDispute[]> {
  const numbers = found.map(({ orderNumber }) => orderNumber);
  return sql<RunningDispute[]>`
    SELECT order_number, d.merchant_id, d.environment, o.status,
      amount_paise, dispute_count, raised_at, respond_by,
      pending_operation IS NOT NULL AS is_refunding
    FROM unnest(${numbers}::text[]) AS listed (order_number)
      JOIN disputes d USING (order_number) JOIN orders o USING (order_number)
    WHERE ended_at IS NULL ORDER BY respond_by, order_number`;
}

/**
 * A dispute is open until it has evidence. The planner would expect few of the disputes' orders to have a
 * status that few of all orders have, and sort every running dispute.
 */
const hasStatus = (sql: Sql, status: DisputeStatus) =>
  status === 'DISPUTE_OPEN' ? sql`AND evidence_at IS NULL` : sql`AND evidence_at IS NOT NULL`;

/** How a dispute ended. */
export type DisputeEnding =
  | 'resolved_by_merchant'
  | 'decided_for_merchant'
  | 'decided_for_buyer'
  | 'accepted_by_merchant'
  | 'not_resolved_in_time'
  /** An operator recorded a settlement outside the gateway. */
  | 'settled_by_operator';

/** One dispute of an order, with the texts of buyer, merchant and operator. */
export interface DisputeRecord {
  /** Counts from 1 on each order. */
  number: number;
  raisedAt: Date;
  /** `buyer`, or the operator who raised it for the buyer. */
  raisedBy: string;
  /** The buyer's text. */
  reason: string;
  evidenceAt: Date | null;
  /** The merchant's text. */
  evidence: string | null;
  /** Null until the dispute has ended; a refund ends it when the gateway has refunded. */
  endedAt: Date | null;
  ending: DisputeEnding | null;
  /** The merchant's text when the merchant resolved it. */
  resolution: string | null;
  decision: { for: 'merchant' | 'buyer'; reason: string; actor: string | null } | null;
}

/** Reads every dispute of an order, the oldest first. */
export async function readDisputes(sql: Sql, orderNumber: string): Promise<DisputeRecord[]> {
  const disputes = await readDisputesOf(sql, [orderNumber]);
  return disputes.get(orderNumber) ?? [];
}

/** The same of several orders, by order number. */
export async function readDisputesOf(
  sql: Sql,
  orderNumbers: readonly string[],
): Promise<Map<string, DisputeRecord[]>> {
  // An erased text is shown as an empty one; a resolution and evidence that never were, as null.
  const rows = await sql<(DisputeRecord & { orderNumber: string })[]>`
    SELECT order_number, number, raised_at, raised_by, coalesce(reason, '') AS reason, evidence_at,
      CASE WHEN evidence_at IS NOT NULL THEN coalesce(evidence, '') END AS evidence, ended_at, ending,
      resolution, CASE WHEN decided_for IS NOT NULL THEN json_build_object('for', decided_for,
        'reason', coalesce(decision_reason, ''), 'actor', decided_by) END AS decision
    FROM disputes WHERE order_number = ANY(${[...orderNumbers]}) ORDER BY order_number, number`;
  const disputes = new Map<string, DisputeRecord[]>();
  for (const { orderNumber, ...dispute } of rows) {
    disputes.set(orderNumber, [...(disputes.get(orderNumber) ?? []), dispute]);
  }
  return disputes;
}
