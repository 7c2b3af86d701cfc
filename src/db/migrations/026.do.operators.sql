-- What operators see: why an alert is over, and what a merchant has changed before it applied again.

-- Why an alert was cleared, by the operator or by the service.
ALTER TABLE alerts ADD COLUMN cleared_reason text;
-- All alerts, the latest first.
CREATE INDEX alerts_by_time ON alerts (last_at, alert_id);

-- The open alerts whose condition no longer holds, with the reason. clearResolvedAlerts clears them every minute.
-- The code that resolves a condition clears its alert itself, where it can; this finds the rest, and what was
-- resolved by someone else or by a process that then died. The kinds that are missing need a person's judgement.
CREATE VIEW resolved_alerts AS
SELECT alert_id, reason FROM (
  SELECT a.alert_id, CASE
    WHEN a.kind IN ('gateway_refused', 'release_blocked', 'step_not_recorded')
      AND o.status IN ('COMPLETED', 'REFUNDED', 'CANCELLED') AND o.pending_operation IS NULL
      AND (o.status <> 'REFUNDED' OR o.refund_processed_at IS NOT NULL)
      THEN 'the order is ' || o.status
    WHEN a.kind = 'refunded_at_gateway' AND o.status = 'REFUNDED' AND o.refund_processed_at > a.last_at
      THEN 'the rest of the payment was refunded'
    WHEN a.kind = 'order_without_row' AND o.order_number IS NOT NULL
      THEN 'the database has the order again'
    WHEN a.kind = 'delivery_unknown'
      AND EXISTS (SELECT FROM webhook_deliveries WHERE delivery_id = a.subject)
      THEN 'the database has the webhook again'
    WHEN a.kind = 'payment_without_order' AND p.order_number IS NOT NULL
      THEN 'the order of the payment was found'
    WHEN a.kind = 'payment_unconfirmed' AND p.confirmed_at IS NOT NULL
      THEN 'the gateway has confirmed the payment'
    WHEN a.kind = 'unfit_capture' AND p.refunded_paise = p.amount_paise
      THEN 'the payment was refunded at the gateway'
    WHEN a.kind IN ('gateway_refused', 'surplus_capture', 'wrong_amount', 'refund_failed') AND EXISTS (
      SELECT FROM surplus_refunds s
      WHERE s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
        AND (s.processed_at IS NOT NULL OR s.settled_paise IS NOT NULL))
      THEN 'the payment was refunded'
    WHEN a.kind = 'refund_failed' AND EXISTS (
      SELECT FROM orders paid WHERE paid.order_number = p.order_number
        AND paid.gateway_payment_id = p.gateway_payment_id AND paid.refund_processed_at IS NOT NULL)
      THEN 'the refund was made again'
    WHEN a.kind IN ('session_refused', 'no_gateway') AND EXISTS (
      SELECT FROM payment_sessions s
      WHERE gateway_subject(s.gateway, s.environment::text) = a.subject
        AND s.gateway_session_id IS NOT NULL AND s.created_at > a.last_at)
      THEN 'a payment session has opened'
    WHEN a.kind = 'no_linked_account' AND EXISTS (
      SELECT FROM orders unpaid WHERE unpaid.order_number = a.details->>'orderNumber'
        AND is_merchant_ready(unpaid.merchant_id, unpaid.environment, unpaid.gateway))
      THEN 'the merchant has a linked account that receives transfers'
    WHEN a.kind = 'linked_account_unusable' AND NOT EXISTS (
      SELECT FROM active_linked_account(a.details->>'merchantId', 'production', a.details->>'gateway') account
        WHERE account.linked_account_id = a.details->>'linkedAccountId'
      UNION ALL
      SELECT FROM waiting_linked_account(a.details->>'merchantId', 'production', a.details->>'gateway') account
        WHERE account.linked_account_id = a.details->>'linkedAccountId')
      THEN 'the merchant has another linked account'
  END AS reason
  FROM alerts a
  LEFT JOIN orders o ON o.order_number = a.subject
  LEFT JOIN payments p ON p.gateway = split_part(a.subject, ':', 1)
    AND p.gateway_payment_id = substr(a.subject, strpos(a.subject, ':') + 1)
  WHERE a.cleared_at IS NULL
) AS looked_at WHERE reason IS NOT NULL;

-- What was submitted, to show an operator what has changed since the submission before. Neither has the number of the
-- bank account, only when it was entered.
ALTER TABLE merchant_applications
  ADD COLUMN account_number_at timestamptz,
  ADD COLUMN submitted jsonb,
  ADD COLUMN submitted_before jsonb;

-- The number of a merchant's disputes, of all and of some days.
CREATE INDEX disputes_by_raising ON disputes (merchant_id, environment, raised_at);
