import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';
import type { Environment } from '../domain/index.ts';
import { DomainError } from '../domain/index.ts';

/** A merchant in one environment. */
export interface MoneyOwner {
  merchantId: string;
  environment: Environment;
}

/** What a line of a statement says, in the order in which a payment can have them. */
export const LINE_TYPES = [
  'paid',
  'released',
  'paid_out',
  'refunded',
  'refund_failed',
  'reversed',
  'charged_back',
] as const;
/** One of {@link LINE_TYPES}. */
export type LineType = (typeof LINE_TYPES)[number];

/** One movement of a merchant's money, or what the gateway has said of it since. */
export interface StatementLine {
  type: LineType;
  amountPaise: number;
  /** What it adds to the held balance; 0 if the money had been released before, and of a payout. */
  balanceChangePaise: number;
  bookedAt: Date;
  /** The time of the step, which may have been recorded late; of a payout, when the service learned it. */
  at: Date;
  orderNumber: string;
  merchantOrderId: string | null;
  gatewayPaymentId: string;
  /** Of a release, and of its payout. */
  gatewayTransferId: string | null;
  /** Of every kind of refund. */
  gatewayRefundId: string | null;
  gatewayChargebackId: string | null;
  /** Of the payment, where the gateway reports it. */
  utr: string | null;
  /** With which payout to the merchant's bank a released transfer was settled. */
  gatewayPayoutId: string | null;
  payoutUtr: string | null;
}

/** The day of a merchant: its balances, and a part of its lines in the order of their booking. */
export interface StatementPage {
  lines: StatementLine[];
  /** The place after the last line; null if that is the last one of the day for now. */
  next: StatementPlace | null;
  /** Held at the beginning and at the end of the day. */
  openingPaise: number;
  closingPaise: number;
  /** No line will be added to the day. */
  isClosed: boolean;
}

/** The last line that a client has read. */
export type StatementPlace = readonly [lineId: number];

/** Which lines of a day to read. */
export interface StatementPart {
  after?: StatementPlace | undefined;
  skip?: number;
  size: number;
}

/** The lines of a merchant's day, for the index of the same expressions. */
const linesOfDay = (sql: Sql, { merchantId, environment }: MoneyOwner, day: string) => sql`
  t.merchant_id = ${merchantId} AND t.environment = ${environment}
    AND indian_day(t.booked_at) = ${day}::date
    AND is_merchants_money(t.debit_account, t.credit_account)`;

/** The payouts that the service learned on a merchant's day, for the index of the same expressions. */
const payoutsOfDay = (sql: Sql, { merchantId, environment }: MoneyOwner, day: string) => sql`
  s.merchant_id = ${merchantId} AND s.environment = ${environment}
    AND indian_day(s.booked_at) = ${day}::date`;

/** The type of a line `t`. @param reversalKind of its reversal */
const typeOf = (sql: Sql, reversalKind: Fragment) => sql`
  CASE t.operation WHEN 'capture' THEN 'paid' WHEN 'release' THEN 'released'
    WHEN 'refund' THEN 'refunded' WHEN 'reversal' THEN
      CASE ${reversalKind} WHEN 'chargeback' THEN 'charged_back' ELSE 'reversed' END
    ELSE t.operation END`;

/** What a line `t`, or a sum of lines, adds to what is held for the merchant. */
export const heldChange = (sql: Sql) => sql`
  CASE 'merchant_held'::ledger_account WHEN t.credit_account THEN t.amount_paise
    WHEN t.debit_account THEN -t.amount_paise ELSE 0 END`;

/**
 * Reads a part of a merchant's day, with its balances, in one statement, so at one moment: the balances are
 * those of the sealed days and of the lines since then.
 *
 * @param day in Indian time, as `2026-11-20`
 * @param page.after undefined begins with the first line
 * @param page.skip the lines between that place and the page
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
 * The id of the last line that is skipped, or one after all of the day. Only the ids are read: a day's
 * totals, which are on the same page, read as many lines.
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
      SELECT s.line_id FROM transfer_payouts s
      WHERE ${payoutsOfDay(sql, owner, day)} AND s.line_id > ${after}
    ) AS line ORDER BY line_id OFFSET ${skip - 1} LIMIT 1`;
  return row?.lineId ?? Number.MAX_SAFE_INTEGER;
}

/** The first lines of the ledger after a place, in the columns of a {@link LineRow}. */
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
  JOIN orders o ON o.order_number = t.order_number
  JOIN payments p ON p.gateway = t.gateway AND p.gateway_payment_id = t.gateway_payment_id
  LEFT JOIN gateway_reversals r ON r.gateway = t.gateway AND r.reversal_id = t.reversal_id
  WHERE ${linesOfDay(sql, owner, day)} AND t.transfer_id > ${after}
  ORDER BY t.transfer_id LIMIT ${limit}`;

/** The same of payouts, whose ids are from the sequence of the ledger's lines. */
const payoutLines = (sql: Sql, owner: MoneyOwner, day: string, { after, limit }: Part) => sql`
  SELECT s.line_id, 'paid_out', t.amount_paise, 0, s.booked_at, s.booked_at, s.order_number,
    o.merchant_order_id, t.gateway_payment_id, t.movement_id, NULL, NULL, NULL, s.payout_id, s.utr
  FROM transfer_payouts s
  JOIN ledger_transfers t ON t.transfer_id = s.release_id
  JOIN orders o ON o.order_number = s.order_number
  WHERE ${payoutsOfDay(sql, owner, day)} AND s.line_id > ${after}
  ORDER BY s.line_id LIMIT ${limit}`;

/** The balances of a merchant's day, whether it has begun, and whether it is closed. */
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

/** The one row of a day without lines has no line. */
type PageRow = Pick<StatementPage, 'openingPaise' | 'closingPaise' | 'isClosed'> & {
  hasBegun: boolean;
} & (LineRow | { [Field in keyof LineRow]: null });

const isLine = (row: PageRow): row is PageRow & LineRow => row.lineId !== null;

/** The lines of one type in a merchant's day. */
export interface LineTotal {
  type: LineType;
  lineCount: number;
  amountPaise: number;
}

/** The lines of a merchant's day by their type; a type without lines is absent. */
export async function readStatementTotals(
  sql: Sql,
  owner: MoneyOwner,
  day: string,
): Promise<LineTotal[]> {
  // As a subquery, which is evaluated for the few reversals alone: a join took half of the time.
  const reversalKind = sql`(SELECT r.kind FROM gateway_reversals r
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
    FROM transfer_payouts s JOIN ledger_transfers t ON t.transfer_id = s.release_id
    WHERE ${payoutsOfDay(sql, owner, day)}
    HAVING count(*) > 0`;
}
