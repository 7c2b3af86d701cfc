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

-- Records which transfer or refund at the gateway has moved a payment's money. While the order is releasing or
-- refunding its payment, this also books the line, because the workflow records the step later: what is reported in
-- between is then booked against money that has gone. A repeat books nothing, nor does this once an operator has
-- settled the order: that is booked with its step. Like every writer it locks the order first.
CREATE FUNCTION book_movement(
  p_gateway text, p_gateway_payment_id text,
  p_operation text,   -- release or refund
  p_movement_id text  -- the gateway's id
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
BEGIN
  o := lock_order_of(p_gateway, p_gateway_payment_id);
  UPDATE payments SET balance_refused_at = NULL,
    gateway_transfer_id = CASE p_operation WHEN 'release' THEN p_movement_id ELSE gateway_transfer_id END,
    gateway_refund_id = CASE p_operation WHEN 'refund' THEN p_movement_id ELSE gateway_refund_id END
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id;
  IF o.gateway = p_gateway AND o.gateway_payment_id = p_gateway_payment_id
    AND o.pending_operation->>'kind' = (CASE p_operation WHEN 'release' THEN 'releasing' ELSE 'refunding' END)
    AND NOT EXISTS (SELECT FROM outside_settlements s WHERE s.order_number = o.order_number) THEN
    PERFORM book_held(o.order_number, p_operation, service_now());
  END IF;
END $$;

-- True while the refund of a REFUNDED order has failed and is not made again.
CREATE FUNCTION has_failed_refund(status order_status, refund_processed_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT status = 'REFUNDED' AND refund_processed_at IS NULL
$$;

-- Reverses the booking of a refund by the service that has failed at the gateway, back to the account that it came
-- from. Does nothing if the payment has no such refund.
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
  UPDATE surplus_refunds s SET processed_at = NULL
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id;
  UPDATE orders SET refund_processed_at = NULL
  WHERE order_number = o.order_number AND p_gateway_payment_id = coalesce(o.gateway_payment_id,
    (SELECT s.gateway_payment_id FROM shown_surplus_of(o.order_number) s));
END $$;
