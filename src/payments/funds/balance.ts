import type { AlertDeps } from '../../alerts/alerts.ts';
import { raiseAlert } from '../../alerts/alerts.ts';
import type { Sql } from '../../db/client.ts';
import { HOLDING_STATUSES } from '../../domain/index.ts';
import { countText } from '../../pages/format.ts';
import type { GatewayRef } from '../gateway/gateways.ts';
import { gatewaySubject } from '../gateway/gateways.ts';
import { feeRates } from './fee-queries.ts';

/** The transfers and refunds that wait for the platform's balance at one gateway. */
interface LackingBalance extends GatewayRef {
  transferCount: number;
  refundCount: number;
  /** An upper bound of the missing amount. The gateway does not report the balance. */
  missingPaise: number;
  /** True if the fee of one of them is not known. */
  isPart: boolean;
  amountPaise: number;
}

function balanceLow({ gateway, environment, ...lacking }: LackingBalance) {
  const { transferCount, refundCount, isPart, amountPaise } = lacking;
  const counts = [countText(refundCount, 'refund'), countText(transferCount, 'transfer')];
  const waitingText = counts.filter((text) => !text.startsWith('0 ')).join(' and ');
  // If the database knows of no missing amount, all of it may be missing.
  const missingPaise = lacking.missingPaise || amountPaise;
  const andMore = isPart ? ' and fees that are not known yet' : '';
  return {
    subject: gatewaySubject(gateway, environment),
    fields: { gateway, environment, transferCount, refundCount, missingPaise },
    message: `The platform's balance at the gateway is too small for ${waitingText}: at most INR ${(missingPaise / 100).toFixed(2)}${andMore} is missing`,
  };
}

/**
 * Updates the alert about each gateway's balance with what waits for it, or raises it.
 *
 * @param error the refusal that the gateway has just given, if any
 */
export async function alertBalanceLow(deps: AlertDeps, error?: Error): Promise<void> {
  for (const lacking of await listLackingBalance(deps.sql)) {
    const { subject, fields, message } = balanceLow(lacking);
    const details = { ...fields, message, ...(error && { error: error.message }) };
    if (!(await updateBalanceLow(deps.sql, subject, details)))
      await raiseAlert(deps, { kind: 'gateway_balance_low', subject, message, fields, error });
  }
}

/** SQL: the refund of payment `p` waits, as the refund of order `o` or as the surplus refund `s`. */
const isRefund = (sql: Sql) => sql`
  (s.gateway IS NOT NULL OR o.pending_operation->>'kind' IS NOT DISTINCT FROM 'refunding'
    OR has_failed_refund(o.status, o.refund_processed_at))`;

/** SQL: the payments `p` of orders `o` whose transfer or refund waits after a refusal because of the balance. */
const waiting = (sql: Sql) => sql`
  payments p JOIN shared.orders o ON o.order_number = p.order_number AND o.gateway = p.gateway
  LEFT JOIN surplus_refunds s ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
    AND s.processed_at IS NULL AND s.settled_paise IS NULL
  WHERE p.balance_refused_at IS NOT NULL
    AND (s.gateway IS NOT NULL OR (o.gateway_payment_id = p.gateway_payment_id
      AND (${isRefund(sql)} OR (p.held_at IS NULL AND o.status = ANY(${HOLDING_STATUSES})
        AND NOT is_reversed(o.gateway, o.gateway_payment_id)))))`;

/** The balance is estimated from this many newest payments, and from those that wait. */
const BALANCE_PAYMENTS = 1000;

/**
 * SQL: the amounts that payments `p` have added to and taken from their gateway's balance, with times. A transfer
 * takes the amount when it is put on hold. A refund of such a payment first takes it back.
 */
const movements = (sql: Sql) => sql`
  SELECT p.gateway, p.environment, m.at, m.paise
  FROM (SELECT p.*, coalesce(p.transfer_fee_paise, 0) AS transfer_cost FROM (
      (SELECT * FROM payments ORDER BY captured_at DESC LIMIT ${BALANCE_PAYMENTS})
      UNION (SELECT p.* FROM ${waiting(sql)})) p) p
  LEFT JOIN (${feeRates(sql)}) r ON r.gateway = p.gateway AND r.environment = p.environment
  CROSS JOIN LATERAL (
    SELECT p.captured_at AS at, p.amount_paise - coalesce(p.fee_paise, ceil(p.amount_paise * r.payment_rate), 0)
      - CASE WHEN p.is_whole THEN 0 ELSE p.refunded_paise END AS paise
    UNION ALL
    SELECT p.held_at, -(p.amount_paise + p.transfer_cost) WHERE p.held_at IS NOT NULL
    UNION ALL
    SELECT t.booked_at, CASE t.operation WHEN 'refund_failed' THEN t.amount_paise
      WHEN 'release' THEN -(t.amount_paise + p.transfer_cost) ELSE -t.amount_paise END
    FROM shared.ledger_transfers t
    LEFT JOIN gateway_reversals v ON v.gateway = t.gateway AND v.reversal_id = t.reversal_id
    WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id
      AND t.operation IN ('release', 'refund', 'refund_failed', 'reversal', 'loss')
      AND (p.held_at IS NULL OR v.kind = 'chargeback')) m`;

/**
 * Lists what waits for the balance at each gateway. A balance is never negative: where the movements add up to less
 * than zero, the platform must have paid in that much by then. Other payments into the balance are not known, so the
 * missing amount is an upper bound.
 */
async function listLackingBalance(sql: Sql): Promise<LackingBalance[]> {
  return sql<LackingBalance[]>`
    WITH needs AS (
      SELECT w.gateway, w.environment, sum(amount_paise)::bigint AS amount_paise,
        count(*) FILTER (WHERE NOT is_refund)::integer AS transfer_count,
        count(*) FILTER (WHERE is_refund)::integer AS refund_count,
        sum(CASE WHEN NOT is_refund THEN amount_paise + ceil(amount_paise * coalesce(transfer_rate, 0))
          WHEN held_at IS NULL THEN amount_paise ELSE 0 END) AS needed_paise,
        bool_or(coalesce(fee_paise, payment_rate) IS NULL OR (NOT is_refund AND transfer_rate IS NULL)) AS is_part
      FROM (SELECT p.*, ${isRefund(sql)} AS is_refund FROM ${waiting(sql)}) w
      LEFT JOIN (${feeRates(sql)}) r ON r.gateway = w.gateway AND r.environment = w.environment
      GROUP BY w.gateway, w.environment
    ), balances AS (
      SELECT gateway, environment, sum(paise) - least(0, min(net)) AS paise
      FROM (SELECT *, sum(paise) OVER (PARTITION BY gateway, environment ORDER BY at) AS net
        FROM (${movements(sql)}) movement WHERE EXISTS (SELECT FROM needs)) net
      GROUP BY gateway, environment
    )
    SELECT n.gateway, n.environment, n.amount_paise, n.transfer_count, n.refund_count, n.is_part,
      greatest(0, n.needed_paise - b.paise)::bigint AS missing_paise
    FROM needs n JOIN balances b USING (gateway, environment)`;
}

/** SQL: payment `p` is what an alert is about: the order's payment, or the payment that the subject names. */
function isOfSubject(sql: Sql, subject: string) {
  const [gateway = '', gatewayPaymentId] = subject.split(':');
  return gatewayPaymentId === undefined
    ? sql`p.order_number = ${subject} AND EXISTS (SELECT FROM shared.orders o
        WHERE o.order_number = p.order_number AND o.gateway = p.gateway
          AND o.gateway_payment_id = p.gateway_payment_id)`
    : sql`p.gateway = ${gateway} AND p.gateway_payment_id = ${gatewayPaymentId}`;
}

/** Records whether the gateway has just refused to move a payment's money because of the balance. */
export async function writeBalanceRefused(
  sql: Sql,
  subject: string,
  isForBalance: boolean,
): Promise<void> {
  await sql`
    UPDATE payments p SET balance_refused_at = CASE WHEN ${isForBalance} THEN service_now() END
    WHERE ${isOfSubject(sql, subject)} AND (${isForBalance} OR p.balance_refused_at IS NOT NULL)`;
}

/**
 * After a refusal because of the balance, nothing else that waits for it is tried for this time. So a thousand
 * waiting refunds ask the gateway a few times a minute instead of a thousand times.
 */
const REFUSED_FOR_SECONDS = 10;

/** SQL: the gateway of payment `p` has just refused to move money because of the balance. */
export const isBalanceJustRefused = (sql: Sql) => sql`
  EXISTS (SELECT FROM payments q WHERE q.gateway = p.gateway AND q.environment = p.environment
    AND q.balance_refused_at > service_now() - ${REFUSED_FOR_SECONDS} * interval '1 second')`;

/**
 * True if a transfer or refund that waits for the balance has to wait longer, because the gateway has just refused
 * it or another.
 */
export async function mustWaitForBalance(sql: Sql, subject: string): Promise<boolean> {
  const rows = await sql`
    SELECT FROM payments p
    WHERE ${isOfSubject(sql, subject)} AND p.balance_refused_at IS NOT NULL
      AND ${isBalanceJustRefused(sql)}`;
  return rows.length > 0;
}

/** Updates the open alert about a gateway's balance. @returns false if there is none */
async function updateBalanceLow(
  sql: Sql,
  subject: string,
  details: Record<string, string | number>,
): Promise<boolean> {
  const { count } = await sql`
    UPDATE alerts SET details = details || ${sql.json(details)}
    WHERE kind = 'gateway_balance_low' AND subject = ${subject} AND cleared_at IS NULL`;
  return count > 0;
}

/** Clears the alerts about gateways where nothing waits for the balance any more. */
export async function clearBalanceLow(sql: Sql): Promise<void> {
  await sql`
    UPDATE alerts a SET cleared_at = clock_timestamp(), cleared_by = 'service',
      cleared_reason = 'nothing waits for the balance'
    WHERE a.kind = 'gateway_balance_low' AND a.cleared_at IS NULL AND NOT EXISTS (
      SELECT FROM ${waiting(sql)} AND a.subject = gateway_subject(p.gateway, p.environment::text))`;
}
