-- The open alerts whose condition no longer holds, with the reason. clearResolvedAlerts clears them every minute, whoever
-- has resolved the condition, and also if that process has died. What no row says, such as that a gateway no longer
-- refuses, code clears where it sees it. The other kinds need a person's judgement.
CREATE VIEW resolved_alerts AS
WITH open AS (
  SELECT alert_id, kind, subject, last_at, details,
    -- The subject was made by gateway_subject.
    split_part(subject, ':', 1) AS gateway, substr(subject, strpos(subject, ':') + 1) AS id
  FROM alerts WHERE cleared_at IS NULL
)
SELECT alert_id, 'the order is ' || o.status AS reason
FROM open JOIN shared.orders o ON o.order_number = subject
  -- A transfer can fail after the order has ended: what is raised then stays open.
  JOIN shared.order_steps s ON s.order_number = o.order_number AND s.step_number = o.step_number
    AND s.recorded_at > last_at
WHERE open.kind IN ('gateway_refused', 'release_blocked', 'step_not_recorded')
  AND is_final(o.status) AND o.pending_operation IS NULL AND NOT has_failed_refund(o.status, o.refund_processed_at)
UNION ALL
SELECT alert_id, 'the database has the order again'
FROM open JOIN shared.orders o ON o.order_number = subject WHERE kind = 'order_without_row'
UNION ALL
SELECT alert_id, 'the database has the webhook again'
FROM open JOIN shared.webhook_deliveries d ON d.delivery_id = subject WHERE kind = 'delivery_unknown'
UNION ALL
SELECT alert_id, 'the order of the payment was found'
FROM open JOIN shared.payments p ON p.gateway = open.gateway AND p.gateway_payment_id = id
WHERE kind = 'payment_without_order'
UNION ALL
SELECT alert_id, 'the gateway has confirmed the payment'
FROM open JOIN shared.payments p ON p.gateway = open.gateway AND p.gateway_payment_id = id
WHERE kind = 'payment_unconfirmed'
UNION ALL
SELECT alert_id, 'the payment was refunded'
FROM open JOIN shared.surplus_refunds s ON s.gateway = open.gateway AND s.gateway_payment_id = id
WHERE kind IN ('gateway_refused', 'surplus_capture', 'wrong_amount', 'refund_failed')
  -- That a refund has failed is raised before it is booked back, and the gateway may refuse to say whether it has.
  AND (s.processed_at > CASE WHEN kind IN ('refund_failed', 'gateway_refused') THEN last_at ELSE '-infinity' END
    OR s.settled_paise IS NOT NULL)
UNION ALL
SELECT alert_id, 'all of the payment was refunded'
FROM open JOIN shared.payments p ON p.gateway = open.gateway AND p.gateway_payment_id = id
WHERE kind = 'unfit_capture' AND p.is_wholly_refunded
UNION ALL
SELECT alert_id, 'all of the payment was refunded'
FROM open JOIN shared.orders o ON o.order_number = subject
WHERE open.kind = 'refunded_at_gateway' AND (
  -- An order that still counts on the payment needs a settlement.
  SELECT bool_and(p.is_wholly_refunded
    AND (o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id OR o.status = 'REFUNDED'))
  FROM shared.gateway_reversals r JOIN shared.payments p USING (gateway, gateway_payment_id)
  WHERE r.order_number = o.order_number AND r.kind = 'refund' AND r.blocks_release)
UNION ALL
SELECT alert_id, 'no reversal at the gateway is left'
FROM open JOIN shared.orders o ON o.order_number = subject
WHERE open.kind IN ('refunded_at_gateway', 'charged_back', 'release_blocked') AND NOT EXISTS (
  SELECT FROM shared.gateway_reversals r WHERE r.order_number = o.order_number AND r.blocks_release
    AND CASE open.kind WHEN 'refunded_at_gateway' THEN r.kind = 'refund'
      WHEN 'charged_back' THEN r.kind = 'chargeback' ELSE r.gateway_payment_id = o.gateway_payment_id END)
UNION ALL
SELECT alert_id, 'nothing of it is left to refund'
FROM open JOIN shared.payments p ON p.gateway = open.gateway AND p.gateway_payment_id = id
  JOIN shared.orders o ON o.order_number = p.order_number AND o.gateway_payment_id = p.gateway_payment_id
WHERE kind = 'refund_failed' AND o.refund_processed_at > last_at
UNION ALL
SELECT alert_id, 'a payment session has opened'
FROM open WHERE kind IN ('session_refused', 'no_gateway') AND EXISTS (
  SELECT FROM shared.payment_sessions s WHERE gateway_subject(s.gateway, s.environment::text) = subject
    AND s.gateway_session_id IS NOT NULL AND s.created_at > last_at)
UNION ALL
SELECT alert_id, 'the merchant has a linked account that receives transfers'
FROM open JOIN shared.orders o ON o.order_number = details->>'orderNumber'
WHERE kind = 'no_linked_account' AND is_merchant_ready(o.merchant_id, o.environment, o.gateway)
UNION ALL
SELECT alert_id, 'the merchant has another linked account'
FROM open WHERE kind = 'linked_account_unusable' AND id NOT IN (
  SELECT linked_account_id FROM active_linked_account(details->>'merchantId', 'production', gateway)
  UNION ALL
  SELECT linked_account_id FROM waiting_linked_account(details->>'merchantId', 'production', gateway));
