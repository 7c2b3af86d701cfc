import type { Fragment } from 'postgres';
import type { Sql } from '../../db/client.ts';
import type { ListPage, ListPart } from '../../db/list-part.ts';
import { pageOf, rowsToRead } from '../../db/list-part.ts';
import type { DisputeStatus, Environment, OrderStatus } from '../../domain/index.ts';
import { HOLDING_STATUSES } from '../../domain/index.ts';

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

/** Why a buyer can raise no more disputes: it has raised the most, or an operator decided for the merchant. */
export type DisputeLimit = 'most' | 'decided';

/** How many disputes of an order its buyer raises. */
const MAX_DISPUTES = 5;

/** What a buyer reads who cannot raise another dispute. */
export const DISPUTE_LIMITS: Record<DisputeLimit, string> = {
  most: `Cannot raise dispute; the order has had ${MAX_DISPUTES} disputes`,
  decided: 'Cannot raise dispute; an operator has decided for the merchant',
};

/**
 * SQL: the {@link DisputeLimit} of a row of `orders`, null while its buyer may raise another dispute. It binds no
 * operator, who raises one for the buyer.
 */
export function disputeLimitOf(sql: Sql, table: Fragment): Fragment {
  const past = sql`FROM disputes past WHERE past.order_number = ${table}.order_number`;
  // The condition on the row itself spares most orders the count.
  return sql`(CASE WHEN ${table}.dispute_count = 0 THEN NULL
    WHEN ${table}.dispute_count >= ${MAX_DISPUTES}
      AND ${MAX_DISPUTES} <= (SELECT count(*) ${past} AND past.raised_by = 'buyer') THEN 'most'
    WHEN EXISTS (SELECT ${past} AND past.decided_for = 'merchant') THEN 'decided' END)`;
}

/** @returns why the buyer can raise no other dispute of the order; null if the limits are not reached */
export async function findDisputeLimit(
  sql: Sql,
  orderNumber: string,
): Promise<DisputeLimit | null> {
  const [row] = await sql<{ reached: DisputeLimit | null }[]>`
    SELECT ${disputeLimitOf(sql, sql`o`)} AS reached FROM orders o
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
 * A dispute is open until it has evidence, unless an operator decides it. The planner would expect few of the disputes' orders to have a
 * status that few of all orders have, and sort every running dispute.
 */
const hasStatus = (sql: Sql, status: DisputeStatus) =>
  status === 'DISPUTE_OPEN' ? sql`AND NOT ${isUnderReview(sql)}` : sql`AND ${isUnderReview(sql)}`;

/** SQL: whether a running dispute, a row of `disputes`, is DISPUTE_UNDER_REVIEW. */
export const isUnderReview = (sql: Sql): Fragment =>
  sql`(evidence_at IS NOT NULL OR operator_decides)`;

/** An order whose money is held and that was disputed again and again. */
export interface DisputedOften {
  orderNumber: string;
  merchantId: string;
  environment: Environment;
  status: OrderStatus;
  amountPaise: number;
  disputeCount: number;
  /** When its latest dispute was raised. */
  raisedAt: Date;
}

/**
 * Finds the orders with their third dispute or a later one whose money is held, those of production with the most
 * disputes first: their buyer and merchant do not agree, or one of them poses as the other.
 */
export async function findDisputedOften(
  sql: Sql,
  limit: number,
): Promise<{ orders: DisputedOften[]; hasMore: boolean }> {
  // The literal makes the condition that of the partial index.
  const rows = await sql<DisputedOften[]>`
    SELECT o.order_number, o.merchant_id, o.environment, o.status, amount_paise, dispute_count, raised_at
    FROM orders o JOIN disputes d ON d.order_number = o.order_number AND d.number = o.dispute_count
    WHERE dispute_count >= 3 AND status = ANY (${HOLDING_STATUSES}::order_status[])
    ORDER BY o.environment DESC, dispute_count DESC, o.order_number LIMIT ${limit + 1}`;
  return { orders: rows.slice(0, limit), hasMore: rows.length > limit };
}

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

/** A buyer raises five; operators may raise any number. The timeline has the texts of all. */
const MOST_DISPUTES = 10;

/** Reads the latest disputes of an order, the oldest of them first. */
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
    FROM disputes JOIN orders o USING (order_number)
    WHERE order_number = ANY(${[...orderNumbers]}) AND number > o.dispute_count - ${MOST_DISPUTES}::integer
    ORDER BY order_number, number`;
  const disputes = new Map<string, DisputeRecord[]>();
  for (const { orderNumber, ...dispute } of rows) {
    disputes.set(orderNumber, [...(disputes.get(orderNumber) ?? []), dispute]);
  }
  return disputes;
}
