import type { Fragment } from 'postgres';
import type { Sql } from '../db/client.ts';
import type { Funds } from '../domain/index.ts';
import { ORDER_STATUSES, PAID_STATUSES, STATUSES } from '../domain/index.ts';

/** A capture without a line is a fault after this time. */
const CAPTURE_UNDER_WAY_MINUTES = 10;

/** The account that contains an order's money, by the funds of its status. */
const ACCOUNTS = {
  none: null,
  held: 'merchant_held',
  released: 'merchant_available',
  refunded: 'refunds',
} as const satisfies Record<Funds, string | null>;

const statusesWith = (funds: Funds) =>
  ORDER_STATUSES.filter((status) => STATUSES[status].funds === funds);

/** SQL condition: a recent capture `p` that its order may not have applied yet. */
export const isUnderWay = (sql: Sql) =>
  sql`p.is_whole AND p.captured_at > service_now() - ${CAPTURE_UNDER_WAY_MINUTES} * interval '1 minute'`;

/** The lines of each payment except its fees, aggregated into one row. The rules below check these rows. */
export const linesOfPayments = (sql: Sql) => sql`
  SELECT gateway, gateway_payment_id,
    count(*) FILTER (WHERE operation = 'capture') AS captures,
    count(*) FILTER (WHERE operation = 'release') AS releases,
    -- The refunds that have not failed.
    count(*) FILTER (WHERE operation = 'refund')
      - count(*) FILTER (WHERE operation = 'refund_failed') AS refunds,
    bool_or(operation = 'refund_failed') AS has_failed,
    max(credit_account) FILTER (WHERE operation = 'capture') AS captured_to,
    max(debit_account) FILTER (WHERE operation IN ('release', 'refund')) AS paid_from,
    coalesce(sum(amount_paise) FILTER (WHERE operation = 'capture'), 0) AS captured_paise,
    ${reversedFrom(sql, 'merchant_held')} AS reversed_held_paise,
    ${balanceOn(sql, 'merchant_held')} AS held_paise,
    ${balanceOn(sql, 'merchant_available')} AS available_paise,
    ${balanceOn(sql, 'surplus')} AS surplus_paise
  FROM ledger_transfers WHERE operation NOT IN ('payment_fee', 'transfer_fee')
  GROUP BY gateway, gateway_payment_id`;

/** A fault names a payment by gateway and id, because ids are unique at one gateway only. */
const paymentIn = (sql: Sql, table: Fragment) =>
  sql`gateway_subject(${table}.gateway, ${table}.gateway_payment_id)`;

const balanceOn = (sql: Sql, account: string) => sql`
  coalesce(sum(CASE ${account}::ledger_account WHEN credit_account THEN amount_paise
    WHEN debit_account THEN -amount_paise END), 0)`;
const reversedFrom = (sql: Sql, account: string) => sql`
  coalesce(sum(CASE ${account}::ledger_account WHEN debit_account THEN amount_paise
    WHEN credit_account THEN -amount_paise END) FILTER (WHERE operation IN ('reversal', 'recovered', 'covered')), 0)`;

/**
 * A payment that was captured in full and in INR has exactly one capture line, of its amount. Any other payment has
 * no line, because its money belongs to no order and no account.
 */
export const captureFaults = (sql: Sql) => sql`
  SELECT 'capture' AS rule, ${paymentIn(sql, sql`p`)} AS subject, CASE
    WHEN NOT p.is_whole THEN format('%s paise of %s, %s refunded, but has lines in the ledger',
      p.amount_paise, p.currency, p.refunded_paise)
    WHEN l.captures IS NULL THEN 'captured, but has no line in the ledger'
    WHEN l.captures <> 1 THEN format('has %s capture lines', l.captures)
    ELSE format('captured %s paise, its line is of %s', p.amount_paise, l.captured_paise)
    END AS fault
  FROM shared.payments p LEFT JOIN lines l USING (gateway, gateway_payment_id)
  WHERE CASE WHEN p.is_whole THEN (l.captures IS NULL AND NOT (${isUnderWay(sql)}))
      OR l.captures <> 1 OR l.captured_paise <> p.amount_paise
    ELSE l.gateway_payment_id IS NOT NULL END`;

/** Each line is one of the allowed transfers, with its payment's order, merchant, environment and gateway. */
export const lineFaults = (sql: Sql) => sql`
  SELECT 'line', ${paymentIn(sql, sql`t`)}, format('line %s: %s from %s to %s of order %s',
    t.transfer_id, t.operation, t.debit_account, t.credit_account, t.order_number)
  FROM ledger_transfers t
  LEFT JOIN shared.payments p USING (gateway, gateway_payment_id)
  LEFT JOIN shared.orders o ON o.order_number = t.order_number
  WHERE (t.operation, t.debit_account::text, t.credit_account::text) NOT IN (
      ('capture', 'gateway_clearing', 'merchant_held'),
      ('capture', 'gateway_clearing', 'surplus'),
      ('release', 'merchant_held', 'merchant_available'),
      ('refund', 'merchant_held', 'refunds'),
      ('refund', 'surplus', 'refunds'),
      ('refund_failed', 'refunds', 'merchant_held'),
      ('refund_failed', 'refunds', 'surplus'),
      ('reversal', 'merchant_held', 'refunds'),
      ('reversal', 'merchant_available', 'refunds'),
      ('reversal', 'surplus', 'refunds'),
      ('loss', 'platform_losses', 'refunds'),
      ('recovered', 'merchant_held', 'platform_losses'),
      ('recovered', 'merchant_available', 'platform_losses'),
      ('recovered', 'surplus', 'platform_losses'),
      ('covered', 'platform_losses', 'merchant_held'),
      ('covered', 'platform_losses', 'surplus'),
      ('payment_fee', 'gateway_fees', 'gateway_clearing'),
      ('transfer_fee', 'gateway_fees', 'gateway_clearing'))
    OR p.order_number IS DISTINCT FROM t.order_number
    OR p.environment IS DISTINCT FROM t.environment
    OR o.merchant_id IS DISTINCT FROM t.merchant_id
    OR o.environment IS DISTINCT FROM t.environment
    OR o.gateway IS DISTINCT FROM t.gateway`;

/**
 * SQL: the account that the money of order `o` with lines `l` has moved to while its release or refund is pending: the
 * gateway has moved it, and the step is not recorded yet. Null before that, and when nothing is pending.
 */
const movedTo = (sql: Sql) => sql`
  CASE WHEN o.pending_operation->>'kind' = 'releasing' AND l.releases > 0 THEN ${ACCOUNTS.released}
    WHEN o.pending_operation->>'kind' = 'refunding' AND l.refunds > 0 THEN ${ACCOUNTS.refunded} END`;

/**
 * The status of an order determines the lines of its payment: none, held, released or refunded; while its release or
 * refund is pending, that may be booked before the status changes. A release or refund moves everything that the
 * gateway has not reversed, so nothing stays held. After a failed refund the money is held until the refund is repeated.
 */
export const orderFaults = (sql: Sql) => sql`
  SELECT 'order', o.order_number, format(
    '%s, %s paise, payment %s: %s captured to %s, %s released, %s refunded', o.status,
    o.amount_paise, coalesce(o.gateway_payment_id, 'none'), coalesce(l.captures, 0),
    coalesce(l.captured_to::text, 'nothing'), coalesce(l.releases, 0), coalesce(l.refunds, 0))
  FROM shared.orders o LEFT JOIN lines l USING (gateway, gateway_payment_id)
  CROSS JOIN LATERAL (SELECT ${movedTo(sql)} AS moved_to) m
  WHERE CASE WHEN o.status = ANY(${PAID_STATUSES}) THEN
      l.captures IS DISTINCT FROM 1 OR l.captured_to IS DISTINCT FROM 'merchant_held'
      OR l.captured_paise IS DISTINCT FROM o.amount_paise
      OR l.releases <> ((o.status = ANY(${statusesWith('released')})
          OR m.moved_to IS NOT DISTINCT FROM ${ACCOUNTS.released})
        AND l.reversed_held_paise < o.amount_paise)::int
      OR l.refunds <> ((o.status = ANY(${statusesWith('refunded')}) AND o.refund_processed_at IS NOT NULL
          OR m.moved_to IS NOT DISTINCT FROM ${ACCOUNTS.refunded})
        AND l.reversed_held_paise < o.amount_paise)::int
      OR l.held_paise <> CASE WHEN m.moved_to IS NULL AND (o.status = ANY(${statusesWith('held')})
        OR (l.has_failed AND o.refund_processed_at IS NULL))
        THEN o.amount_paise - l.reversed_held_paise ELSE 0 END
      OR l.available_paise < 0
      OR (l.paid_from IS NOT NULL AND l.paid_from <> 'merchant_held')
      OR (o.status = ANY(${statusesWith('refunded')})
        AND ((o.refund_processed_at IS NULL AND NOT l.has_failed)
        OR o.refund_amount_paise IS DISTINCT FROM o.amount_paise))
    ELSE o.gateway_payment_id IS NOT NULL END`;

/** Each held payment belongs to an order that is paid with it. */
export const ownerFaults = (sql: Sql) => sql`
  SELECT 'owner', ${paymentIn(sql, sql`l`)}, 'held for a merchant, but no order is paid with it'
  FROM lines l LEFT JOIN shared.orders o USING (gateway, gateway_payment_id)
  WHERE l.captured_to = 'merchant_held' AND o.order_number IS NULL`;

/** Each surplus capture is in `surplus_refunds`, and refunded exactly when that table says so. */
export const surplusFaults = (sql: Sql) => sql`
  SELECT 'surplus', gateway_subject(gateway, gateway_payment_id), CASE
    WHEN s.gateway_payment_id IS NULL THEN 'surplus in the ledger, but not among the surplus refunds'
    WHEN l.captured_to IS DISTINCT FROM 'surplus' THEN 'a surplus refund without its capture line'
    ELSE format('%s, but the ledger has %s refunds, and %s paise of %s refunded',
      CASE WHEN s.processed_at IS NULL THEN 'not refunded yet' ELSE 'refunded' END,
      l.refunds, l.captured_paise - l.surplus_paise, s.amount_paise) END
  FROM shared.surplus_refunds s
  FULL JOIN (SELECT * FROM lines WHERE captured_to = 'surplus') l
    USING (gateway, gateway_payment_id)
  WHERE s.gateway_payment_id IS NULL OR l.captured_to IS NULL
    OR l.refunds > (s.processed_at IS NOT NULL)::int OR l.releases <> 0
    OR l.captured_paise <> s.amount_paise OR l.surplus_paise < 0
    OR (s.processed_at IS NOT NULL AND l.surplus_paise <> 0)
    OR (l.paid_from IS NOT NULL AND l.paid_from <> 'surplus')`;

/**
 * Each reversal that took money has one line, of its amount or of the rest of the payment. The platform pays the
 * rest of a lost chargeback, and what a refund takes that the bank processed meanwhile, until that refund fails. It
 * takes back at once what it pays because of a transfer. Any other reversal has no line.
 */
export const reversalFaults = (sql: Sql) => sql`
  SELECT 'reversal', gateway_subject(coalesce(r.gateway, t.gateway), reversal_id), CASE
    WHEN r.reversal_id IS NULL THEN 'in the ledger, but not among the reversals'
    ELSE format('%s, %s of %s paise, but the ledger has %s and %s of the platform, and %s of its payment left',
      r.kind, r.state, r.amount_paise, coalesce(t.amount_paise, 0), coalesce(t.platform_paise, 0),
      l.held_paise + l.available_paise + l.surplus_paise) END
  FROM shared.gateway_reversals r
  FULL JOIN (SELECT gateway, reversal_id, gateway_payment_id,
      sum(CASE operation WHEN 'loss' THEN 0 WHEN 'covered' THEN -amount_paise ELSE amount_paise END) AS amount_paise,
      sum(CASE operation WHEN 'reversal' THEN 0 WHEN 'recovered' THEN -amount_paise ELSE amount_paise END)
        AS platform_paise
    FROM ledger_transfers WHERE reversal_id IS NOT NULL
    GROUP BY gateway, reversal_id, gateway_payment_id) t
    USING (gateway, reversal_id)
  LEFT JOIN lines l ON l.gateway = r.gateway AND l.gateway_payment_id = r.gateway_payment_id
  WHERE r.reversal_id IS NULL OR coalesce(t.amount_paise, 0) <> r.booked_paise
    OR t.gateway_payment_id <> r.gateway_payment_id
    OR coalesce(t.platform_paise, 0) <> r.platform_paise
    OR (r.booked_paise + r.platform_paise > 0 AND NOT r.has_left)
    OR (r.has_left AND r.kind = 'chargeback' AND l.captures > 0
      AND r.booked_paise + r.platform_paise <> r.amount_paise)
    OR (r.has_left AND r.booked_paise < r.amount_paise
      AND l.held_paise + l.available_paise + l.surplus_paise > 0)`;

/** Each payment has one line for its fee and one for its transfer's fee, if the gateway has charged them. */
export const feeFaults = (sql: Sql) => sql`
  SELECT 'fee', gateway_subject(gateway, gateway_payment_id),
    format('charged %s and %s paise, but the ledger has %s and %s', coalesce(p.fee_paise, 0),
      coalesce(p.transfer_fee_paise, 0), coalesce(l.payment_paise, 0), coalesce(l.transfer_paise, 0))
  FROM shared.payments p
  FULL JOIN (SELECT gateway, gateway_payment_id,
      sum(amount_paise) FILTER (WHERE operation = 'payment_fee') AS payment_paise,
      sum(amount_paise) FILTER (WHERE operation = 'transfer_fee') AS transfer_paise
    FROM ledger_transfers WHERE operation IN ('payment_fee', 'transfer_fee')
    GROUP BY gateway, gateway_payment_id) l
    USING (gateway, gateway_payment_id)
  WHERE coalesce(p.fee_paise, 0) <> coalesce(l.payment_paise, 0)
    OR coalesce(p.transfer_fee_paise, 0) <> coalesce(l.transfer_paise, 0)`;

/** The stored sums of a merchant's days equal the sums of their sealed lines. */
export const dayFaults = (sql: Sql) => sql`
  SELECT 'day', format('%s %s %s', merchant_id, environment, day),
    format('%s to %s: %s paise, but the lines have %s', debit_account, credit_account,
      coalesce(d.amount_paise, 0), coalesce(l.amount_paise, 0))
  FROM ledger_days d FULL JOIN (
    SELECT merchant_id, environment, indian_day(booked_at) AS day, debit_account, credit_account,
      sum(amount_paise) AS amount_paise
    FROM ledger_transfers WHERE transfer_id <= (SELECT sealed_to FROM ledger_seal)
    GROUP BY merchant_id, environment, indian_day(booked_at), debit_account, credit_account
  ) l USING (merchant_id, environment, day, debit_account, credit_account)
  WHERE d.amount_paise IS DISTINCT FROM l.amount_paise`;

/**
 * The expected balance of each account, computed from the orders, the surplus, the reversals and the fees only. The lines
 * count only for a pending release or refund: they tell whether it is booked.
 */
export function expectedBalances(sql: Sql) {
  const accounts = Object.fromEntries(
    PAID_STATUSES.map((status) => [status, ACCOUNTS[STATUSES[status].funds]]),
  );
  return sql`
    SELECT environment, m.account, sum(m.paise) AS paise FROM (
      SELECT environment, gateway, gateway_payment_id, amount_paise,
        CASE WHEN moved_to IS NOT NULL THEN moved_to WHEN status = ANY(${statusesWith('refunded')}) AND refund_processed_at IS NULL
          THEN ${ACCOUNTS.held} ELSE ${sql.json(accounts)}::jsonb->>status::text END AS account
      FROM shared.orders o LEFT JOIN lines l USING (gateway, gateway_payment_id)
      CROSS JOIN LATERAL (SELECT ${movedTo(sql)} AS moved_to) m
      WHERE status = ANY(${PAID_STATUSES})
      UNION ALL
      SELECT p.environment, gateway, gateway_payment_id, s.amount_paise,
        CASE WHEN s.processed_at IS NULL THEN 'surplus' ELSE 'refunds' END
      FROM shared.surplus_refunds s JOIN shared.payments p USING (gateway, gateway_payment_id)
    ) money
    LEFT JOIN (SELECT gateway, gateway_payment_id, sum(booked_paise) AS paise,
        sum(platform_paise) AS platform_paise
      FROM shared.gateway_reversals GROUP BY gateway, gateway_payment_id) reversed
      USING (gateway, gateway_payment_id)
    CROSS JOIN LATERAL (VALUES (money.account, amount_paise - coalesce(reversed.paise, 0)),
      ('refunds', coalesce(reversed.paise + reversed.platform_paise, 0)),
      ('platform_losses', coalesce(-reversed.platform_paise, 0))) m (account, paise)
    GROUP BY environment, m.account
    UNION ALL
    SELECT environment, 'gateway_fees',
      -sum(coalesce(fee_paise, 0) + coalesce(transfer_fee_paise, 0))
    FROM shared.payments GROUP BY environment`;
}
