import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';

export interface MoneyOwner {
  merchantId: string;
  environment: Environment;
}

/** The types of lines, in the order in which a payment can have them. */
export const LINE_TYPES = [
  'paid',
  'released',
  'paid_out',
  'refunded',
  'refund_failed',
  'reversed',
  'charged_back',
  'covered',
] as const;
export type LineType = (typeof LINE_TYPES)[number];

/** A movement of a merchant's money, or a later report of the gateway about one. */
export interface StatementLine {
  type: LineType;
  amountPaise: number;
  /** The change of the held balance. 0 for a payout, and for money that had been released before. */
  balanceChangePaise: number;
  bookedAt: Date;
  /** The time of the step, which may have been recorded late. For a payout, when the service learned of it. */
  at: Date;
  orderNumber: string;
  merchantOrderId: string | null;
  gatewayPaymentId: string;
  /** Set for a release and its payout. */
  gatewayTransferId: string | null;
  /** Set for every kind of refund. */
  gatewayRefundId: string | null;
  gatewayChargebackId: string | null;
  /** The payment's UTR, if the gateway reports it. */
  utr: string | null;
  /** The payout to the merchant's bank that settled a released transfer. */
  gatewayPayoutId: string | null;
  payoutUtr: string | null;
}

/** A merchant's day: its balances, and a part of its lines in the order of booking. */
export interface StatementPage {
  lines: StatementLine[];
  /** The place after the last line. Null if the day has no more lines now. */
  next: StatementPlace | null;
  /** The held balance at the beginning of the day; `closingPaise` is that at its end. */
  openingPaise: number;
  closingPaise: number;
  /** True if no line will be added to the day. */
  isClosed: boolean;
}

export type StatementPlace = readonly [lineId: number];

export interface StatementPart {
  after?: StatementPlace | undefined;
  skip?: number;
  size: number;
}

/** The condition for the lines of a merchant's day. It repeats the expressions of the index. */
const linesOfDay = (sql: Sql, { merchantId, environment }: MoneyOwner, day: string) => sql`
  t.merchant_id = ${merchantId} AND t.environment = ${environment}
    AND indian_day(t.booked_at) = ${day}::date
    AND is_merchants_money(t.debit_account, t.credit_account)`;

/**
 * The condition for the payouts that the service learned of on a merchant's day. It repeats the expressions of the
 * index.
 */
const payoutsOfDay = (sql: Sql, { merchantId, environment }: MoneyOwner, day: string) => sql`
  s.merchant_id = ${merchantId} AND s.environment = ${environment}
    AND indian_day(s.booked_at) = ${day}::date`;

/** SQL: the type of line `t`. @param reversalKind the kind of the line's reversal */
const typeOf = (sql: Sql, reversalKind: Fragment) => sql`
  CASE t.operation WHEN 'capture' THEN 'paid' WHEN 'release' THEN 'released'
    WHEN 'refund' THEN 'refunded' WHEN 'refund_failed' THEN 'refund_failed' WHEN 'covered' THEN 'covered'
    ELSE CASE ${reversalKind} WHEN 'chargeback' THEN 'charged_back' ELSE 'reversed' END END`;

/** SQL: the change of the merchant's held balance by line `t`, or by a sum of lines. */
export const heldChange = (sql: Sql) => sql`
  CASE 'merchant_held'::ledger_account WHEN t.credit_account THEN t.amount_paise
    WHEN t.debit_account THEN -t.amount_paise ELSE 0 END`;

/**
 * Reads a part of a merchant's day, with its balances, in one statement. The balances are the sums of the sealed
 * days and the lines that came later.
 *
 * @param day in Indian time, such as `2026-11-20`
 * @param page.after undefined begins with the first line
 * @param page.skip the number of lines between that place and the page
 * @throws DomainError `NOT_FOUND` for a day that has not begun
 */
export async function readStatement(
  sql: Sql,
  owner: MoneyOwner,
  day: string,
  { after: [place] = [0], skip = 0, size }: StatementPart,
): Promise<StatementPage> {
  const after = skip === 0 ? place : await placeAfter(sql, owner, day, { after: place, skip });
  const part = { after, limit: size + 1 };
  const rows = await sql<[PageRow, ...PageRow[]]>`
    SELECT head.*, line.*
    FROM (${dayHead(sql, owner, day)}) head
    LEFT JOIN LATERAL (
      (${ledgerLines(sql, owner, day, part)}) UNION ALL (${payoutLines(sql, owner, day, part)})
      ORDER BY line_id LIMIT ${part.limit}
    ) line ON true
    ORDER BY line.line_id`;
  const [{ hasBegun, openingPaise, closingPaise, isClosed }] = rows;
  if (!hasBegun) throw new DomainError('NOT_FOUND', `${day} has not begun in India`);
  const found = rows.filter(isLine);
  const lines = found.slice(0, size);
  const last = found.length > size ? lines.at(-1) : undefined;
  return { lines, next: last ? [last.lineId] : null, openingPaise, closingPaise, isClosed };
}

interface Part {
  after: number;
  limit: number;
}

/**
 * The id of the last skipped line, or an id after all lines of the day. It reads only ids; the day's totals, on the
 * same page, read as many lines.
 */
async function placeAfter(
  sql: Sql,
  owner: MoneyOwner,
  day: string,
  { after, skip }: { after: number; skip: number },
): Promise<number> {
  const [row] = await sql<{ lineId: number }[]>`
    SELECT line_id FROM (
      SELECT t.transfer_id AS line_id FROM ledger_transfers t
      WHERE ${linesOfDay(sql, owner, day)} AND t.transfer_id > ${after}
      UNION ALL
      SELECT s.line_id FROM shared.transfer_payouts s
      WHERE ${payoutsOfDay(sql, owner, day)} AND s.line_id > ${after}
    ) AS line ORDER BY line_id OFFSET ${skip - 1} LIMIT 1`;
  return row?.lineId ?? Number.MAX_SAFE_INTEGER;
}

/** The next lines of the ledger after a place, in the columns of a {@link LineRow}. */
const ledgerLines = (sql: Sql, owner: MoneyOwner, day: string, { after, limit }: Part) => sql`
  SELECT t.transfer_id AS line_id, ${typeOf(sql, sql`r.kind`)} AS type, t.amount_paise,
    ${heldChange(sql)} AS balance_change_paise, t.booked_at, t.at, t.order_number,
    o.merchant_order_id, t.gateway_payment_id,
    CASE WHEN t.operation = 'release' THEN t.movement_id END AS gateway_transfer_id,
    CASE WHEN r.kind = 'refund' THEN r.reversal_id
      WHEN t.operation <> 'release' THEN t.movement_id END AS gateway_refund_id,
    CASE WHEN r.kind = 'chargeback' THEN r.reversal_id END AS gateway_chargeback_id,
    CASE WHEN t.operation = 'capture' THEN p.utr END AS utr,
    NULL AS gateway_payout_id, NULL AS payout_utr
  FROM ledger_transfers t
  JOIN shared.orders o ON o.order_number = t.order_number
  JOIN shared.payments p ON p.gateway = t.gateway AND p.gateway_payment_id = t.gateway_payment_id
  LEFT JOIN shared.gateway_reversals r ON r.gateway = t.gateway AND r.reversal_id = t.reversal_id
  WHERE ${linesOfDay(sql, owner, day)} AND t.transfer_id > ${after}
  ORDER BY t.transfer_id LIMIT ${limit}`;

/** The same for payouts, whose ids come from the sequence of the ledger's lines. */
const payoutLines = (sql: Sql, owner: MoneyOwner, day: string, { after, limit }: Part) => sql`
  SELECT s.line_id, 'paid_out', t.amount_paise, 0, s.booked_at, s.booked_at, s.order_number,
    o.merchant_order_id, t.gateway_payment_id, t.movement_id, NULL, NULL, NULL, s.payout_id, s.utr
  FROM shared.transfer_payouts s
  JOIN ledger_transfers t ON t.transfer_id = s.release_id
  JOIN shared.orders o ON o.order_number = s.order_number
  WHERE ${payoutsOfDay(sql, owner, day)} AND s.line_id > ${after}
  ORDER BY s.line_id LIMIT ${limit}`;

function dayHead(sql: Sql, { merchantId, environment }: MoneyOwner, day: string) {
  const own = sql`merchant_id = ${merchantId} AND environment = ${environment}`;
  return sql`
    SELECT coalesce(sum(change) FILTER (WHERE sums.day < ${day}::date), 0)::bigint AS opening_paise,
      coalesce(sum(change), 0)::bigint AS closing_paise,
      ${day}::date <= indian_day(service_now()) AS has_begun,
      (SELECT complete_to FROM ledger_seal)
        >= (${day}::date + 1)::timestamp AT TIME ZONE 'Asia/Kolkata' AS is_closed
    FROM (
      SELECT day, ${heldChange(sql)} AS change FROM ledger_days t
      WHERE ${own} AND day <= ${day}::date
      UNION ALL
      SELECT indian_day(booked_at), ${heldChange(sql)} FROM unsealed_ledger_transfers t
      WHERE ${own} AND indian_day(booked_at) <= ${day}::date
    ) sums`;
}

type LineRow = StatementLine & { lineId: number };

/** A day without lines has one row, without a line. */
type PageRow = Pick<StatementPage, 'openingPaise' | 'closingPaise' | 'isClosed'> & {
  hasBegun: boolean;
} & (LineRow | { [Field in keyof LineRow]: null });

const isLine = (row: PageRow): row is PageRow & LineRow => row.lineId !== null;

/** The sum of a merchant's lines of one type in a day. */
export interface LineTotal {
  type: LineType;
  lineCount: number;
  amountPaise: number;
}

/** Sums a merchant's lines of a day by type. A type without lines is absent. */
export async function readStatementTotals(
  sql: Sql,
  owner: MoneyOwner,
  day: string,
): Promise<LineTotal[]> {
  // A subquery is evaluated only for the few reversals. A join took half of the time.
  const reversalKind = sql`(SELECT r.kind FROM shared.gateway_reversals r
    WHERE r.gateway = t.gateway AND r.reversal_id = t.reversal_id)`;
  return sql<LineTotal[]>`
    SELECT type, count(*) AS line_count, sum(amount_paise)::bigint AS amount_paise
    FROM (
      SELECT ${typeOf(sql, reversalKind)} AS type, t.amount_paise FROM ledger_transfers t
      WHERE ${linesOfDay(sql, owner, day)}
    ) AS line
    GROUP BY type
    UNION ALL
    SELECT 'paid_out', count(*), sum(t.amount_paise)::bigint
    FROM shared.transfer_payouts s JOIN ledger_transfers t ON t.transfer_id = s.release_id
    WHERE ${payoutsOfDay(sql, owner, day)}
    HAVING count(*) > 0`;
}
