-- The order of a payment: that of its session, or the one that the gateway has copied from the session. Null if the
-- service has no such order at this gateway.
CREATE FUNCTION order_of_payment(
  p_gateway text, p_environment environment, p_order_number text, p_gateway_session_id text
) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT order_number FROM shared.orders
  WHERE gateway = p_gateway AND environment = p_environment AND order_number = coalesce(
    (SELECT s.order_number FROM payment_sessions s WHERE s.gateway = p_gateway
      AND s.environment = p_environment AND s.gateway_session_id = p_gateway_session_id),
    p_order_number)
$$;

-- Books what the gateway has charged the platform for a payment and for its transfer, each once. The caller has locked
-- the order.
CREATE FUNCTION book_fees(p payments) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM book_line(o, p.gateway_payment_id, fee.operation, 'gateway_fees', 'gateway_clearing', fee.paise)
  FROM shared.orders o
  CROSS JOIN (VALUES ('payment_fee', p.fee_paise), ('transfer_fee', p.transfer_fee_paise)) AS fee (operation, paise)
  WHERE o.order_number = p.order_number AND fee.paise > 0 AND NOT EXISTS (SELECT FROM shared.ledger_transfers t
    WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id AND t.operation = fee.operation);
END $$;

-- Records what a gateway reports about a payment after it was recorded, even if its order has taken it: the UTR,
-- which the order shows too, and the fees. The first reported value is kept. Like every writer it locks the order
-- first.
CREATE FUNCTION write_late_facts(
  p_gateway text, p_gateway_payment_id text,
  p_facts jsonb  -- utr, fee_paise, transfer_fee_paise, where they are known
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  payment payments;
BEGIN
  PERFORM lock_order_of(p_gateway, p_gateway_payment_id);
  UPDATE payments p SET utr = coalesce(p.utr, p_facts->>'utr'),
    fee_paise = coalesce(p.fee_paise, (p_facts->>'fee_paise')::bigint),
    transfer_fee_paise = coalesce(p.transfer_fee_paise, (p_facts->>'transfer_fee_paise')::bigint)
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id
  RETURNING * INTO payment;
  PERFORM book_fees(payment);
  UPDATE orders o SET payment_utr = payment.utr
  WHERE o.order_number = payment.order_number AND o.gateway = p_gateway
    AND o.gateway_payment_id = p_gateway_payment_id AND o.payment_utr IS DISTINCT FROM payment.utr;
END $$;

-- Ends the session of a capture, for the order `o`, which is locked: as paid, or so that the buyer can have another one.
CREATE FUNCTION end_session_of(payment payments, o shared.orders, p_fits boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  has_ended boolean := false;
BEGIN
  -- For each of the two a statement, whose plan is kept: with CASE it was planned for each call.
  IF p_fits THEN
    UPDATE payment_sessions s
    SET state = 'PAID', ended_at = coalesce(s.ended_at, service_now()),
      -- Only a second payment on it can still be missed.
      next_check_at = last_check_of(s)
    WHERE s.session_id = payment.session_id;
    RETURN;
  END IF;
  UPDATE payment_sessions s SET state = 'CLOSED', ended_at = coalesce(s.ended_at, service_now())
  WHERE s.session_id = payment.session_id
    -- Another payment has paid it.
    AND NOT EXISTS (SELECT FROM payments other
      WHERE other.order_number = s.order_number AND other.session_id = s.session_id
        AND pays_order(other.is_whole, other.amount_paise, o.amount_paise));
  -- While a capture is looked at, its order offers no payment: reconciliation closes the session at the gateway.
  IF o.open_session_id IS DISTINCT FROM payment.session_id AND unapplied_capture_of(o.order_number) IS NOT NULL THEN
    has_ended := end_open_session(o.open_session_id);
  END IF;
  UPDATE orders SET open_session_id = NULL
  WHERE order_number = o.order_number AND (has_ended OR open_session_id = payment.session_id);
END $$;

-- Claims a capture for the caller, who does what is next, for 30 s. Its order `o` is locked.
CREATE FUNCTION claim_capture(
  o shared.orders, p_gateway_payment_id text,
  OUT next text           -- see unapplied_captures; null also if another process has claimed it
) LANGUAGE plpgsql AS $$
BEGIN
  UPDATE payments p SET claimed_at = service_now() FROM unapplied_captures u
  WHERE p.gateway = o.gateway AND p.gateway_payment_id = p_gateway_payment_id AND p.order_number = o.order_number
    AND u.gateway = o.gateway AND u.gateway_payment_id = p_gateway_payment_id AND u.next IS NOT NULL
    AND coalesce(p.claimed_at < service_now() - left_to_its_process(), true)
    -- A callback that came after the gateway was asked may report a refund: who received it asks again and claims it, or
    -- reconciliation does.
    AND NOT EXISTS (SELECT FROM unconfirmed_callbacks c
      WHERE c.gateway = o.gateway AND c.gateway_payment_id = p_gateway_payment_id)
    -- The sandbox's helper notifies the order itself, because its request waits for the result.
    AND (NOT takes_payment(o.status) OR p.captured_at < service_now() - left_to_its_process()
      OR NOT EXISTS (SELECT FROM payment_sessions s
        WHERE s.session_id = p.session_id AND s.pay_command_id IS NOT NULL))
  RETURNING u.next INTO next;
END $$;

-- Records a capture as the gateway's API has returned it, and ends its session: as paid, or, if the order cannot become
-- PAID by it, so that the buyer can have another session. It also ends the state of the callbacks that have reported
-- the capture, and claims it. Like every writer it locks the order first. To a capture that an order has taken, or that is
-- being refunded as surplus, it adds only facts that were not known.
--
-- All results are null if the service does not have the order.
CREATE FUNCTION write_capture(
  p_gateway text, p_environment environment,
  p_payment jsonb,        -- gateway_payment_id, status, currency, amount_paise, refunded_paise, utr, fee_paise;
                          -- order_number, session_id, gateway_session_id; asked_at: see databaseTime in src/db/client.ts
  p_was_taken boolean,    -- its order took it before the database lost it: what was refunded since does not count
  OUT order_number text,
  OUT merchant_id text,
  OUT fits boolean,       -- it pays its order (see pays_order), and its refund as surplus has not begun
  OUT next text           -- see claim_capture
) LANGUAGE plpgsql AS $$
DECLARE
  asked_at CONSTANT timestamptz := coalesce((p_payment->>'asked_at')::timestamptz, service_now());
  id CONSTANT text := p_payment->>'gateway_payment_id';
  o shared.orders;
  payment payments;
  is_taken boolean; -- the order has taken it
BEGIN
  SELECT * INTO o FROM shared.orders WHERE orders.order_number = order_of_payment(
    p_gateway, p_environment, p_payment->>'order_number', p_payment->>'gateway_session_id')
  FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  order_number := o.order_number;
  merchant_id := o.merchant_id;
  is_taken := o.gateway_payment_id IS NOT DISTINCT FROM id;
  INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, session_id,
    amount_paise, currency, gateway_status, refunded_paise, utr, captured_at, fee_paise)
  SELECT p_gateway, id, p_environment, o.order_number,
    (SELECT s.session_id FROM payment_sessions s WHERE s.order_number = o.order_number
      AND (s.gateway_session_id = p_payment->>'gateway_session_id' OR s.session_id = p_payment->>'session_id')
      ORDER BY s.gateway_session_id = p_payment->>'gateway_session_id' DESC NULLS LAST LIMIT 1),
    (p_payment->>'amount_paise')::bigint, p_payment->>'currency', p_payment->>'status',
    (p_payment->>'refunded_paise')::bigint, p_payment->>'utr', asked_at,
    (p_payment->>'fee_paise')::bigint
  ON CONFLICT (gateway, gateway_payment_id) DO UPDATE
  SET gateway_status = CASE WHEN p_was_taken OR excluded.gateway_status = 'refunded'
      THEN excluded.gateway_status ELSE payments.gateway_status END,
    refunded_paise = CASE WHEN p_was_taken THEN excluded.refunded_paise
      ELSE greatest(payments.refunded_paise, excluded.refunded_paise) END,
    session_id = coalesce(payments.session_id, excluded.session_id),
    utr = coalesce(payments.utr, excluded.utr),
    fee_paise = coalesce(payments.fee_paise, excluded.fee_paise)
  WHERE payments.order_number = o.order_number AND NOT is_taken
    AND NOT EXISTS (SELECT FROM surplus_refunds s
      WHERE s.gateway = payments.gateway AND s.gateway_payment_id = payments.gateway_payment_id)
  RETURNING * INTO payment;
  -- After the INSERT: its trigger asks whether the callbacks are unconfirmed.
  PERFORM confirm_callbacks(p_gateway, id, asked_at);

  IF payment.gateway_payment_id IS NULL THEN
    -- An order has taken it, it is being refunded, or it is recorded with another order.
    fits := is_taken;
    PERFORM write_late_facts(p_gateway, id, p_payment) FROM payments p
    WHERE p.gateway = p_gateway AND p.gateway_payment_id = id AND p.order_number = o.order_number;
  ELSE
    fits := pays_order(payment.is_whole, payment.amount_paise, o.amount_paise);
    PERFORM book_fees(payment);
    PERFORM end_session_of(payment, o, fits);
  END IF;
  next := claim_capture(o, id);
END $$;
