-- Books the capture of an order's payment. The caller has locked the order.
CREATE FUNCTION book_capture(p_order_number text, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM book_line(o, o.gateway_payment_id, 'capture', 'gateway_clearing', 'merchant_held', o.amount_paise, p_at)
  FROM shared.orders o WHERE o.order_number = p_order_number;
END $$;

-- Books that the platform pays what a lost chargeback had taken while the bank processed this service's refund, which has
-- taken the same money. Does nothing once the refund is booked: the caller, who has locked the order, books it next.
CREATE FUNCTION cover_refund(o shared.orders, payment payments, p_account ledger_account) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  missing_paise bigint := coalesce(payment.gateway_refund_paise, 0)
    - balance_of(payment.gateway, payment.gateway_payment_id, p_account);
  lost gateway_reversals;
  paise bigint;
BEGIN
  IF EXISTS (SELECT FROM shared.ledger_transfers t WHERE t.gateway = payment.gateway
      AND t.gateway_payment_id = payment.gateway_payment_id AND t.movement_id = payment.gateway_refund_id) THEN
    RETURN;
  END IF;
  FOR lost IN SELECT * FROM gateway_reversals r WHERE r.gateway = payment.gateway
      AND r.gateway_payment_id = payment.gateway_payment_id AND r.kind = 'chargeback' AND r.booked_paise > 0
      ORDER BY r.reversal_id LOOP
    EXIT WHEN missing_paise <= 0;
    paise := least(lost.booked_paise, missing_paise);
    missing_paise := missing_paise - paise;
    UPDATE gateway_reversals SET booked_paise = booked_paise - paise, platform_paise = platform_paise + paise
    WHERE gateway = payment.gateway AND reversal_id = lost.reversal_id;
    PERFORM book_line(o, payment.gateway_payment_id, 'covered', 'platform_losses', p_account, paise,
      p_refund_try => refund_try_of(payment.gateway, payment.gateway_payment_id), p_reversal_id => lost.reversal_id);
  END LOOP;
END $$;

-- Books the gateway's transfer of an order's whole payment. What was refunded or charged back at the gateway while the
-- transfer was under way is then taken from merchant_available, as if it had come after the release: the platform pays it
-- and takes it back. Does nothing once the transfer is booked. The caller has locked the order.
CREATE FUNCTION book_transfer(o shared.orders, p_transfer_id text, p_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF last_movement_of(o.gateway, o.gateway_payment_id) = 'release' THEN
    RETURN;
  END IF;
  PERFORM book_line(o, r.gateway_payment_id, 'covered', 'platform_losses', 'merchant_held', r.booked_paise,
    p_reversal_id => r.reversal_id)
  FROM gateway_reversals r WHERE r.gateway = o.gateway AND r.gateway_payment_id = o.gateway_payment_id;
  PERFORM book_line(o, o.gateway_payment_id, 'release', 'merchant_held', 'merchant_available', o.amount_paise, p_at,
    p_transfer_id);
  PERFORM book_line(o, r.gateway_payment_id, 'recovered', 'merchant_available', 'platform_losses', r.booked_paise,
    p_reversal_id => r.reversal_id)
  FROM gateway_reversals r WHERE r.gateway = o.gateway AND r.gateway_payment_id = o.gateway_payment_id;
END $$;

-- Books that an order's payment was released to the merchant or refunded, by the gateway's transfer or refund, or by
-- the operator who has settled the order: that moves what the payment has on merchant_held. The caller has locked the
-- order.
CREATE FUNCTION book_held(p_order_number text, p_operation text, p_at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
  payment payments;
  is_settled CONSTANT boolean := is_settled(p_order_number);
BEGIN
  SELECT * INTO STRICT o FROM shared.orders WHERE order_number = p_order_number;
  SELECT * INTO payment FROM payments p
  WHERE p.gateway = o.gateway AND p.gateway_payment_id = o.gateway_payment_id;
  IF p_operation = 'release' AND NOT is_settled THEN
    PERFORM book_transfer(o, payment.gateway_transfer_id, p_at);
  ELSIF p_operation = 'release' THEN
    PERFORM book_line(o, o.gateway_payment_id, 'release', 'merchant_held', 'merchant_available',
      balance_of(o.gateway, o.gateway_payment_id, 'merchant_held'), p_at);
  ELSE
    IF NOT is_settled THEN
      PERFORM cover_refund(o, payment, 'merchant_held');
    END IF;
    PERFORM book_line(o, o.gateway_payment_id, 'refund', 'merchant_held', 'refunds',
      balance_of(o.gateway, o.gateway_payment_id, 'merchant_held'), p_at,
      CASE WHEN NOT is_settled THEN payment.gateway_refund_id END, refund_try_of(o.gateway, o.gateway_payment_id));
  END IF;
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
    gateway_refund_id = CASE p_operation WHEN 'refund' THEN p_movement_id ELSE gateway_refund_id END,
    gateway_refund_paise = CASE p_operation WHEN 'refund' THEN p_amount_paise ELSE gateway_refund_paise END
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id;
  IF o.gateway_payment_id = p_gateway_payment_id AND NOT is_settled(o.order_number)
    AND o.pending_operation->>'kind' = (CASE p_operation WHEN 'release' THEN 'releasing' ELSE 'refunding' END) THEN
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
    AND NOT is_settled(p_order_number);
END $$;

-- True while the refund of a REFUNDED order has failed and is not made again.
CREATE FUNCTION has_failed_refund(status order_status, refund_processed_at timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT status = 'REFUNDED' AND refund_processed_at IS NULL
$$;

-- Reverses the booking of a refund by the service that has failed at the gateway, back to the account that it came
-- from. What the platform had paid for a lost chargeback, because the refund had taken the money, comes from there then;
-- so does what others have refunded.
-- Does nothing if the payment has no such refund.
CREATE FUNCTION book_refund_failed(p_gateway text, p_gateway_payment_id text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
  refund shared.ledger_transfers;
  lost gateway_reversals;
  left_paise bigint;
  paise bigint;
BEGIN
  o := lock_order_of(p_gateway, p_gateway_payment_id);
  SELECT * INTO refund FROM shared.ledger_transfers t
  WHERE t.gateway = p_gateway AND t.gateway_payment_id = p_gateway_payment_id
    AND t.operation IN ('refund', 'refund_failed')
  ORDER BY t.transfer_id DESC LIMIT 1;
  IF refund.operation IS DISTINCT FROM 'refund' THEN
    RETURN;
  END IF;
  PERFORM book_line(o, p_gateway_payment_id, 'refund_failed', refund.credit_account, refund.debit_account,
    refund.amount_paise, p_movement_id => refund.movement_id, p_refund_try => refund.refund_try);
  left_paise := refund.amount_paise;
  FOR lost IN SELECT * FROM gateway_reversals r WHERE r.gateway = p_gateway
      AND r.gateway_payment_id = p_gateway_payment_id AND r.platform_paise > 0 ORDER BY r.reversal_id LOOP
    paise := least(lost.platform_paise, left_paise);
    left_paise := left_paise - paise;
    UPDATE gateway_reversals SET booked_paise = booked_paise + paise, platform_paise = platform_paise - paise
    WHERE gateway = p_gateway AND reversal_id = lost.reversal_id;
    PERFORM book_line(o, p_gateway_payment_id, 'recovered', refund.debit_account, 'platform_losses', paise,
      p_refund_try => refund.refund_try, p_reversal_id => lost.reversal_id);
  END LOOP;
  PERFORM book_waiting_reversals(o, p_gateway_payment_id);
  UPDATE surplus_refunds s SET processed_at = NULL
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id;
  UPDATE orders SET refund_processed_at = NULL
  WHERE order_number = o.order_number AND p_gateway_payment_id = coalesce(o.gateway_payment_id,
    (SELECT s.gateway_payment_id FROM shown_surplus_of(o.order_number) s));
END $$;

-- Claims a capture for its refund if its order cannot take it: it did not make the order PAID, and the order can no
-- longer be paid or the amount differs. A capture that is not whole is not claimed. Also books it, and if the order was
-- cancelled before, adds the refund to the order; a later cancel adds it itself. Returns no row if the capture is not
-- surplus.
CREATE FUNCTION claim_surplus(p_gateway text, p_gateway_payment_id text) RETURNS SETOF surplus_refunds
LANGUAGE plpgsql AS $$
DECLARE
  o CONSTANT shared.orders := lock_order_of(p_gateway, p_gateway_payment_id);
  payment payments;
  why text;
BEGIN
  SELECT * INTO payment FROM payments p WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id;
  why := surplus_reason(o.status, payment.amount_paise = o.amount_paise);
  IF why IS NULL OR o.gateway_payment_id IS NOT DISTINCT FROM p_gateway_payment_id THEN
    RETURN;
  END IF;
  INSERT INTO surplus_refunds (gateway, gateway_payment_id, order_number, amount_paise, reason)
  SELECT p_gateway, p_gateway_payment_id, o.order_number, payment.amount_paise, why
  WHERE payment.is_whole ON CONFLICT DO NOTHING;
  IF FOUND THEN
    PERFORM book_line(o, p_gateway_payment_id, 'capture', 'gateway_clearing', 'surplus', payment.amount_paise);
    UPDATE orders SET refund_amount_paise = payment.amount_paise, refund_reason = why
    WHERE order_number = o.order_number AND status = 'CANCELLED' AND refund_amount_paise IS NULL;
  END IF;
  RETURN QUERY SELECT * FROM surplus_refunds s
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id;
END $$;

-- Records that a surplus capture is refunded, with the mails about it. A CANCELLED order shows its earliest refund.
-- Returns what write_order_mails does; null if the refund was recorded before.
CREATE FUNCTION finish_surplus(p_gateway text, p_gateway_payment_id text, p_mails jsonb) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  o CONSTANT shared.orders := lock_order_of(p_gateway, p_gateway_payment_id);
  surplus surplus_refunds;
  payment payments;
BEGIN
  UPDATE surplus_refunds s SET processed_at = service_now()
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id AND s.processed_at IS NULL
  RETURNING * INTO surplus;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF surplus.settled_paise IS NULL THEN
    SELECT * INTO payment FROM payments p WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id;
    PERFORM cover_refund(o, payment, 'surplus');
  END IF;
  PERFORM book_line(o, p_gateway_payment_id, 'refund', 'surplus', 'refunds',
    balance_of(p_gateway, p_gateway_payment_id, 'surplus'), p_movement_id => payment.gateway_refund_id,
    p_refund_try => refund_try_of(p_gateway, p_gateway_payment_id));
  UPDATE orders SET refund_processed_at = surplus.processed_at
  WHERE order_number = o.order_number AND status = 'CANCELLED'
    AND p_gateway_payment_id = (SELECT s.gateway_payment_id FROM shown_surplus_of(o.order_number) s);
  RETURN write_order_mails(o.order_number, p_mails);
END $$;
