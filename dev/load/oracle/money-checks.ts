import type { SqlChecks } from './checks.ts';
import { TOTALS } from './report.ts';

/** One movement of each kind, which is that of the order's status, and lines of the ledger that are equal. */
const COMPARED: SqlChecks = {
  gateway: [
    `SELECT known_order AS subject, 'the gateway has not captured ' || gateway_payment_id AS fault,
        ARRAY['razorpay:' || gateway_payment_id] AS about
      FROM known_payments WHERE gateway_payment_id NOT IN (SELECT id FROM captures)`,
    `SELECT subject, format('%s, %s paise with the buyer, %s transferred of %s; %s', made, buyer_paise,
        transferred_paise, amount_paise, CASE WHEN is_own THEN 'the order is ' || money.status ELSE 'surplus' END) AS fault, about
      FROM money LEFT JOIN statuses s ON s.status = money.status::text,
      LATERAL (SELECT coalesce(moved_funds, s.funds) AS funds) f
      WHERE is_known AND keyed_refunds <= 1 AND live_transfers <= 1 AND NOT (known_paise = amount_paise AND CASE
        WHEN NOT is_own OR f.funds = 'refunded' THEN buyer_paise = amount_paise AND transferred_paise = 0
        WHEN f.funds = 'released' THEN buyer_paise = 0 AND transferred_paise = amount_paise AND NOT is_held
        WHEN f.funds = 'held' THEN buyer_paise = 0 AND is_held = has_hold
          AND transferred_paise = CASE WHEN has_hold THEN amount_paise ELSE 0 END
        ELSE false END)`,
    // Until the buyer has all of it back.
    `SELECT known_order AS subject, format('no alert says that %s does not fit', payment_id) AS fault FROM money
      WHERE is_known AND NOT is_whole AND buyer_paise <> amount_paise AND NOT EXISTS (SELECT FROM alerts
        WHERE kind = 'unfit_capture' AND alerts.subject = ANY (about) AND cleared_at IS NULL)
        AND (SELECT alerts FROM allowed)`,
    `SELECT subject, format('%s, %s: %s paise at the gateway, %s in the ledger', payment_id, what, has, booked) AS fault,
        about
      FROM money, LATERAL (SELECT coalesce(sum(amount_paise) FILTER (WHERE operation = 'capture'), 0) AS captured,
          coalesce(sum(CASE operation WHEN 'refund_failed' THEN -amount_paise ELSE amount_paise END)
            FILTER (WHERE operation IN ('refund', 'refund_failed', 'reversal', 'loss')), 0) AS to_buyer,
          coalesce(sum(amount_paise) FILTER (WHERE operation = 'release'), 0) AS released
        FROM ledger_transfers t WHERE t.gateway_payment_id = payment_id) l,
      LATERAL (VALUES ('captured', amount_paise, captured), ('to the buyer', buyer_paise, to_buyer),
        ('released', released_paise, released)) AS line(what, paise, booked),
      LATERAL (SELECT CASE WHEN is_whole THEN paise ELSE 0 END AS has) h
      WHERE has <> booked`,
    // The own sums of the gateways against their payments, and their fees against those in the ledger.
    `SELECT '${TOTALS}' AS subject, format('the gateway has %s: %s, the others %s', what, its, others) AS fault
      FROM (SELECT sum(captured_paise) AS captured, sum(fees_paise) AS fees, bool_and(is_balanced) AS is_balanced
        FROM totals) own,
      LATERAL (VALUES ('not added up', NOT is_balanced, 0, 1),
        ('captured', true, captured, (SELECT coalesce(sum(amount), 0) FROM captures)),
        ('charged fees', true, fees, (SELECT coalesce(sum(amount_paise), 0) FROM ledger_transfers
          WHERE debit_account = 'gateway_fees'))) AS sums(what, is_compared, its, others)
      WHERE is_compared AND its <> others`,
  ],
  lost: [
    `SELECT subject, format('captured %s at the gateway, and the service does not have it', payment_id) AS fault, about
      FROM money WHERE NOT is_known`,
  ],
  duplicate: [
    `SELECT subject, made AS fault, about FROM money WHERE is_known AND (keyed_refunds > 1 OR live_transfers > 1)`,
    `SELECT k.order_number AS subject, format('its buyer paid %s times at most, and %s payments were captured',
        most_captures, count(*)) AS fault
      FROM known_orders k JOIN money ON noted_order = ANY (order_numbers)
      GROUP BY k.order_number, noted_order, most_captures HAVING count(*) > most_captures`,
  ],
};

/** Whether a chargeback `v` was open at a time, which the gateway gives in whole seconds. */
const isOpenAt = (at: string) => `(${at} > v.recorded_at + interval '1 second'
  AND ${at} < coalesce(v.ended_at, 'infinity') - interval '1 second' AND NOT pg_temp.is_lost(${at}, 1))`;

/**
 * The invariants of money at the gateway, of every payment, also of orders with an alert. What the service knew in lost
 * times cannot be read any more: the end of a chargeback may have been recorded, and is recorded again later.
 */
const INVARIANTS: readonly string[] = [
  // What this service has paid out, and what had left at the gateway before, is at most what was captured. What others
  // take of a payment that was paid out before is not in the service's hands. A payment is paid out when the gateway
  // has accepted the refund or transfer, which may be pending there. When it lifted a hold, it does not tell.
  `SELECT known_order AS subject, format('%s: %s paise were paid out and %s taken of %s captured', payment_id, ours,
      others, amount_paise) AS fault
    FROM money, LATERAL (SELECT our_refunds_paise + released_paise AS ours) o,
    LATERAL (SELECT coalesce(sum(t.amount), 0) AS others FROM (
      SELECT id, amount FROM live_refunds r WHERE r.payment_id = money.payment_id AND NOT is_ours
      UNION ALL SELECT id, amount FROM chargebacks b WHERE b.payment_id = money.payment_id AND status = 'lost') t
      JOIN gateway_reversals v ON v.reversal_id = t.id AND v.gateway_payment_id = money.payment_id
        AND date_trunc('milliseconds', v.recorded_at) < coalesce(date_trunc('milliseconds',
          least(moved_at, refunded_at, CASE WHEN transferred_at >= date_trunc('second', release_started_at)
            THEN transferred_at END)), 'infinity')) x
    WHERE ours > 0 AND ours + others > amount_paise`,
  // No order has a final status beside a movement to the other side, without an alert.
  `SELECT known_order AS subject, format('%s: the order is %s, %s paise are refunded and %s released, and no alert says so',
      payment_id, status, refunded_paise, released_paise) AS fault
    FROM money WHERE is_own AND NOT has_alert
      AND (status = 'COMPLETED' AND refunded_paise > 0 OR status = 'REFUNDED' AND released_paise > 0)`,
  // A payment made its order PAID only if nothing of it was refunded when the gateway was asked. A payment that was
  // recovered after a restore was asked for once more.
  `SELECT known_order AS subject,
      payment_id || ': some of it was refunded before it made its order PAID' AS fault
    FROM money WHERE is_own AND EXISTS (SELECT FROM live_refunds r
      WHERE r.payment_id = money.payment_id
        AND r.at + interval '1 second' < least(captured_at, paid_at))`,
  // No refund and no release begins while the service knows of an open chargeback of the payment.
  `SELECT known_order AS subject, format('%s: its money moved at %s while %s was open, from %s to %s', payment_id, moved,
      reversal_id, v.recorded_at, coalesce(v.ended_at::text, 'now')) AS fault
    FROM money JOIN gateway_reversals v USING (gateway_payment_id),
    LATERAL (SELECT coalesce((SELECT min(made_at) FROM refunds r, to_timestamp(r.created_at) AS made_at
        WHERE r.payment_id = money.payment_id AND r.notes->>'idempotency_key' = r.payment_id || '-refund'
          AND ${isOpenAt('made_at')}),
      CASE WHEN ${isOpenAt('release_started_at')} AND ${isOpenAt('release_recorded_at')}
        THEN release_started_at END) AS moved) m
    WHERE v.kind = 'chargeback' AND moved IS NOT NULL`,
  // No dispute was refunded by its deadline over an answer that was received before.
  `SELECT c.order_number AS subject, format('was refunded by its dispute''s deadline, although %s was received before',
      c.name) AS fault
    FROM order_steps s JOIN order_commands c USING (order_number)
    WHERE s.kind = 'REFUND_STARTED'
      AND s.step->'pendingOperation'->>'reason' = 'dispute_not_resolved_in_time'
      AND c.state = 'WAITING' AND c.name IN ('resolve', 'accept', 'decide')
      AND c.received_at < to_timestamp((s.step->'deadline'->>'atMs')::double precision / 1000)
      AND c.received_at >= (SELECT max(r.at) FROM order_steps r
        WHERE r.order_number = s.order_number AND r.kind = 'DISPUTE_RAISED' AND r.step_number < s.step_number)
      -- An acceptance is refused while a chargeback is open.
      AND NOT EXISTS (SELECT FROM gateway_reversals v WHERE v.order_number = s.order_number)`,
];

/** The gateway's captures, refunds and transfers, against orders and ledger; and the invariants of money. */
export const MONEY_CHECKS: SqlChecks = { ...COMPARED, invariant: INVARIANTS };
