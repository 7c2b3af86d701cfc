-- Books the capture of an order's payment. The caller has locked the order.
CREATE FUNCTION book_capture(p_order_number text, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
    merchant_id, environment, debit_account, credit_account, amount_paise, at)
  SELECT gateway, gateway_payment_id, 'capture', order_number, merchant_id, environment,
    'gateway_clearing', 'merchant_held', amount_paise, p_at
  FROM shared.orders WHERE order_number = p_order_number;
END $$;

-- Books everything that an order's payment has on merchant_held as released to the merchant or refunded, by the gateway's
-- transfer or refund, unless an operator has settled the order: something else then moved it. Books nothing if nothing
-- is left there. The caller has locked the order.
CREATE FUNCTION book_held(p_order_number text, p_operation text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id, environment,
    debit_account, credit_account, amount_paise, at, refund_try, movement_id)
  SELECT o.gateway, o.gateway_payment_id, p_operation, o.order_number, o.merchant_id, o.environment, 'merchant_held',
    CASE p_operation WHEN 'release' THEN 'merchant_available' ELSE 'refunds' END::ledger_account, held_paise, p_at,
    CASE p_operation WHEN 'release' THEN 0 ELSE refund_try_of(o.gateway, o.gateway_payment_id) END,
    CASE WHEN NOT EXISTS (SELECT FROM outside_settlements s WHERE s.order_number = o.order_number)
      THEN CASE p_operation WHEN 'release' THEN p.gateway_transfer_id ELSE p.gateway_refund_id END END
  FROM shared.orders o JOIN payments p USING (gateway, gateway_payment_id)
  CROSS JOIN LATERAL balance_of(o.gateway, o.gateway_payment_id, 'merchant_held') AS held_paise
  WHERE o.order_number = p_order_number AND held_paise > 0;
END $$;

-- Books what a processed refund has taken from the platform, because a chargeback that was lost while the bank processed
-- it had taken the money of the payment. A repeat books nothing. The caller has locked the order.
CREATE FUNCTION book_paid_twice(
  p_gateway text, p_gateway_payment_id text, p_refund_id text, p_amount_paise bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  missing_paise CONSTANT bigint := p_amount_paise - balance_of(p_gateway, p_gateway_payment_id, 'merchant_held')
    - balance_of(p_gateway, p_gateway_payment_id, 'surplus');
  chargeback gateway_reversals;
BEGIN
  IF missing_paise <= 0 OR EXISTS (SELECT FROM shared.ledger_transfers t WHERE t.gateway = p_gateway
      AND t.gateway_payment_id = p_gateway_payment_id AND t.movement_id = p_refund_id) THEN
    RETURN;
  END IF;
  UPDATE gateway_reversals SET paid_twice_paise = least(booked_paise, missing_paise)
  WHERE gateway = p_gateway AND reversal_id = (SELECT r.reversal_id FROM gateway_reversals r
      WHERE r.gateway = p_gateway AND r.gateway_payment_id = p_gateway_payment_id AND r.kind = 'chargeback'
        AND r.booked_paise > 0 ORDER BY r.booked_paise DESC, r.reversal_id LIMIT 1)
    AND paid_twice_paise = 0
  RETURNING * INTO chargeback;
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id, environment,
    debit_account, credit_account, amount_paise, reversal_id)
  SELECT p_gateway, p_gateway_payment_id, 'paid_twice', o.order_number, o.merchant_id, o.environment,
    'platform_losses', 'refunds', chargeback.paid_twice_paise, chargeback.reversal_id
  FROM shared.orders o WHERE o.order_number = chargeback.order_number;
END $$;

-- Records which transfer or refund at the gateway has moved a payment's money. While the order is releasing or
-- refunding its payment, this also books the line, because the workflow records the step later: what is reported in
-- between is then booked against money that has gone. A repeat books nothing, nor does this once an operator has
-- settled the order: that is booked with its step. Like every writer it locks the order first.
CREATE FUNCTION book_movement(
  p_gateway text, p_gateway_payment_id text,
  p_operation text,   -- release or refund
  p_movement_id text, -- the gateway's id
  p_amount_paise bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
BEGIN
  o := lock_order_of(p_gateway, p_gateway_payment_id);
  UPDATE payments SET balance_refused_at = NULL,
    gateway_transfer_id = CASE p_operation WHEN 'release' THEN p_movement_id ELSE gateway_transfer_id END,
    gateway_refund_id = CASE p_operation WHEN 'refund' THEN p_movement_id ELSE gateway_refund_id END
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id;
  IF p_operation = 'refund' THEN
    PERFORM book_paid_twice(p_gateway, p_gateway_payment_id, p_movement_id, p_amount_paise);
  END IF;
  IF o.gateway = p_gateway AND o.gateway_payment_id = p_gateway_payment_id
    AND o.pending_operation->>'kind' = (CASE p_operation WHEN 'release' THEN 'releasing' ELSE 'refunding' END)
    AND NOT EXISTS (SELECT FROM outside_settlements s WHERE s.order_number = o.order_number) THEN
    PERFORM book_held(o.order_number, p_operation, service_now());
  END IF;
END $$;

-- True if the refund of an order whose money is to be released or refunded now failed after the gateway had made it, and
-- something is left to refund: it is made again after the step. Not once an operator has settled the order.
CREATE FUNCTION is_refund_owed(p_order_number text, p_gateway text, p_gateway_payment_id text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  RETURN last_movement_of(p_gateway, p_gateway_payment_id) IS NOT DISTINCT FROM 'refund_failed'
    AND balance_of(p_gateway, p_gateway_payment_id, 'merchant_held') > 0
    AND NOT EXISTS (SELECT FROM outside_settlements WHERE order_number = p_order_number);
END $$;

-- True while the refund of a REFUNDED order has failed and is not made again.
CREATE FUNCTION has_failed_refund(status order_status, refund_processed_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT status = 'REFUNDED' AND refund_processed_at IS NULL
$$;

-- Reverses the booking of a refund by the service that has failed at the gateway, back to the account that it came
-- from. What the platform had paid for a lost chargeback, because the refund had taken the money, comes from there then.
-- Does nothing if the payment has no such refund.
CREATE FUNCTION book_refund_failed(p_gateway text, p_gateway_payment_id text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
  refund shared.ledger_transfers;
BEGIN
  o := lock_order_of(p_gateway, p_gateway_payment_id);
  SELECT * INTO refund FROM shared.ledger_transfers t
  WHERE t.gateway = p_gateway AND t.gateway_payment_id = p_gateway_payment_id
    AND t.operation IN ('refund', 'refund_failed')
  ORDER BY t.transfer_id DESC LIMIT 1;
  IF refund.operation IS DISTINCT FROM 'refund' THEN
    RETURN;
  END IF;
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
    environment, debit_account, credit_account, amount_paise, refund_try, movement_id)
  VALUES (p_gateway, p_gateway_payment_id, 'refund_failed', refund.order_number, refund.merchant_id,
    refund.environment, refund.credit_account, refund.debit_account, refund.amount_paise,
    refund.refund_try, refund.movement_id);
  WITH lost AS (
    SELECT r.reversal_id, least(r.platform_paise, refund.amount_paise - coalesce(sum(r.platform_paise)
      OVER (ORDER BY r.reversal_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)) AS paise
    FROM gateway_reversals r
    WHERE r.gateway = p_gateway AND r.gateway_payment_id = p_gateway_payment_id AND r.platform_paise > 0
  ), taken AS (
    UPDATE gateway_reversals r SET booked_paise = booked_paise + paise, platform_paise = platform_paise - paise
    FROM lost WHERE r.gateway = p_gateway AND r.reversal_id = lost.reversal_id AND paise > 0
  )
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
    environment, debit_account, credit_account, amount_paise, reversal_id)
  SELECT p_gateway, p_gateway_payment_id, 'recovered', refund.order_number, refund.merchant_id,
    refund.environment, refund.debit_account, 'platform_losses', paise, reversal_id
  FROM lost WHERE paise > 0;
  UPDATE surplus_refunds s SET processed_at = NULL
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id;
  UPDATE orders SET refund_processed_at = NULL
  WHERE order_number = o.order_number AND p_gateway_payment_id = coalesce(o.gateway_payment_id,
    (SELECT s.gateway_payment_id FROM shown_surplus_of(o.order_number) s));
END $$;
