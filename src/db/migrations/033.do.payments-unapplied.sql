-- True once the buyer has all of a payment back: refunded at the gateway itself, charged back, or refunded by us. What the
-- gateway says of the payment does not count: it calls a payment refunded while the refund is pending, which can fail.
CREATE FUNCTION is_wholly_refunded(p payments) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT p.amount_paise <=
    (SELECT coalesce(sum(r.amount_paise), 0) FROM gateway_reversals r
      WHERE r.gateway = p.gateway AND r.gateway_payment_id = p.gateway_payment_id
        AND r.has_left AND r.came_back_at IS NULL)
    + (SELECT coalesce(sum(CASE t.operation WHEN 'refund' THEN t.amount_paise ELSE -t.amount_paise END), 0)
      FROM shared.ledger_transfers t
      WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id
        AND t.operation IN ('refund', 'refund_failed'))
$$;
-- Others read this function's result.
CREATE VIEW shared.payments AS SELECT gateway, gateway_payment_id, environment, order_number, session_id, amount_paise,
  currency, refunded_paise, is_whole, utr, captured_at, fee_paise, transfer_fee_paise, gateway_transfer_id,
  gateway_refund_id, is_wholly_refunded(p) AS is_wholly_refunded FROM payments p;

-- Locks the order of a payment and returns it as it is then; a row of nulls without one.
CREATE FUNCTION lock_order_of(p_gateway text, p_gateway_payment_id text, OUT o shared.orders) LANGUAGE plpgsql AS $$
BEGIN
  SELECT orders.* INTO o FROM payments p JOIN shared.orders USING (order_number)
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id FOR NO KEY UPDATE OF orders;
END $$;

-- The captures that no order has taken and whose surplus refund has not begun, with what is to be done next: 'notify'
-- the order, whose workflow has it refunded if the order takes no payment; 'refund' it as surplus; or 'alert' that it is
-- not whole. One that is not whole and has its alert needs nothing (null), and is checked until all of it is refunded; then
-- the order can be paid again.
-- state: see unapplied_capture_of; null of one that does not keep its order from being paid.
CREATE VIEW unapplied_captures AS
SELECT p.gateway, p.gateway_payment_id, p.environment, p.order_number, p.captured_at, p.is_whole,
  CASE WHEN NOT p.is_whole THEN CASE WHEN NOT is_wholly_refunded(p) THEN 'looked_at' END
    WHEN surplus_reason(o.status, p.amount_paise = o.amount_paise) IS NULL THEN 'confirmed' END AS state,
  CASE WHEN NOT p.is_whole THEN CASE WHEN a.alert_id IS NULL THEN 'alert' END
    WHEN p.amount_paise <> o.amount_paise THEN 'refund'
    ELSE 'notify' END AS next
FROM payments p JOIN shared.orders o USING (order_number)
LEFT JOIN LATERAL (SELECT alert_id FROM shared.alerts
  WHERE NOT p.is_whole AND kind = 'unfit_capture'
    AND subject = gateway_subject(p.gateway, p.gateway_payment_id) LIMIT 1) a ON true
WHERE o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id
  AND NOT EXISTS (SELECT FROM surplus_refunds s
    WHERE s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id)
  AND (p.is_whole OR a.alert_id IS NULL OR NOT is_wholly_refunded(p));

-- The payments that reconciliation asks the gateway about, each perhaps twice: those that only callbacks have
-- reported, and unapplied captures, whose Signal was lost. `ledger verify` checks older ones.
CREATE VIEW payments_to_confirm AS
SELECT gateway, gateway_payment_id, environment, order_number, received_at AS reported_at
FROM unconfirmed_callbacks
WHERE received_at < (SELECT service_now()) - left_to_its_process()
UNION ALL
SELECT gateway, gateway_payment_id, environment, order_number, captured_at
FROM unapplied_captures
WHERE captured_at < (SELECT service_now()) - left_to_its_process()
  AND captured_at > (SELECT service_now()) - interval '7 days';

-- The state of the payments that an order has not applied: 'confirmed' if one makes it PAID next, 'reported' if the
-- gateway must still be asked about one, 'looked_at' if one is not whole, until all of it was refunded. Null if
-- there is none; only then can the order be paid. Of several the first in the alphabet counts.
CREATE FUNCTION unapplied_capture_of(p_order_number text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT min(state) FROM (
    SELECT state FROM unapplied_captures WHERE order_number = p_order_number
    UNION ALL
    SELECT 'reported' FROM unconfirmed_callbacks JOIN shared.orders o USING (order_number)
    WHERE order_number = p_order_number AND takes_payment(o.status)
  ) AS unapplied
$$;
