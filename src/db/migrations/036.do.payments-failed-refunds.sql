-- True while the refund of a REFUNDED order has failed and is not made again.
CREATE FUNCTION has_failed_refund(o orders) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT o.status = 'REFUNDED' AND o.refund_processed_at IS NULL
$$;

-- Reverses the booking of a refund by the service that has failed at the gateway, back to the account that it came
-- from. Returns false if the payment has no such refund.
CREATE FUNCTION book_refund_failed(p_gateway text, p_gateway_payment_id text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  refund ledger_transfers;
BEGIN
  SELECT orders.* INTO o FROM payments p JOIN orders USING (order_number)
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id
  FOR NO KEY UPDATE OF orders;
  SELECT * INTO refund FROM ledger_transfers t
  WHERE t.gateway = p_gateway AND t.gateway_payment_id = p_gateway_payment_id
    AND t.operation IN ('refund', 'refund_failed')
  ORDER BY t.transfer_id DESC LIMIT 1;
  IF refund.operation IS DISTINCT FROM 'refund' THEN
    RETURN false;
  END IF;
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
    environment, debit_account, credit_account, amount_paise, refund_try, movement_id)
  VALUES (p_gateway, p_gateway_payment_id, 'refund_failed', refund.order_number, refund.merchant_id,
    refund.environment, refund.credit_account, refund.debit_account, refund.amount_paise,
    refund.refund_try, refund.movement_id);
  UPDATE surplus_refunds s SET processed_at = NULL
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id;
  -- A cancelled order shows its earliest surplus refund.
  UPDATE orders SET refund_processed_at = NULL
  WHERE order_number = o.order_number AND p_gateway_payment_id = coalesce(o.gateway_payment_id,
    (SELECT s.gateway_payment_id FROM surplus_refunds s WHERE s.order_number = o.order_number
      ORDER BY s.started_at, s.gateway_payment_id LIMIT 1));
  RETURN true;
END $$;

-- The number of the next refund of a payment: how many have failed after they were booked.
CREATE FUNCTION refund_try_of(p_gateway text, p_gateway_payment_id text) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer FROM ledger_transfers
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
    AND operation = 'refund_failed'
$$;
