-- How alerts and audit rows name something of a gateway's; gatewaySubject in
-- src/payments/gateway/gateways.ts is the same.
CREATE FUNCTION gateway_subject(gateway text, id text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT gateway || ':' || id
$$;

-- When a session is checked at the gateway for the last time: an hour after it ended.
CREATE FUNCTION last_check_of(s payment_sessions) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(s.expires_at, s.created_at) + interval '1 hour'
$$;

-- Books what the gateway has charged the platform for a payment and for its transfer, each once.
CREATE FUNCTION book_fees(p payments) RETURNS void LANGUAGE sql AS $$
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id,
    environment, debit_account, credit_account, amount_paise)
  SELECT p.gateway, p.gateway_payment_id, line.operation, o.order_number, o.merchant_id, o.environment,
    'gateway_fees', 'gateway_clearing', line.paise
  FROM orders o
  CROSS JOIN (VALUES ('payment_fee', p.fee_paise), ('transfer_fee', p.transfer_fee_paise))
    AS line (operation, paise)
  WHERE o.order_number = p.order_number AND line.paise > 0
  ON CONFLICT DO NOTHING
$$;

-- Records what a gateway reports about a payment after it was recorded, even if its order has taken it: the UTR,
-- which the order shows too, and the fees. The first reported value is kept. Like every writer it locks the order
-- first.
CREATE FUNCTION write_late_facts(
  p_gateway text, p_gateway_payment_id text,
  p_facts jsonb  -- utr, fee_paise, tax_paise, transfer_fee_paise, transfer_tax_paise, where they are known
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  payment payments;
BEGIN
  PERFORM FROM payments p JOIN orders o USING (order_number)
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id FOR NO KEY UPDATE OF o;
  UPDATE payments p SET utr = coalesce(p.utr, p_facts->>'utr'),
    fee_paise = coalesce(p.fee_paise, (p_facts->>'fee_paise')::bigint),
    tax_paise = coalesce(p.tax_paise, (p_facts->>'tax_paise')::bigint),
    transfer_fee_paise = coalesce(p.transfer_fee_paise, (p_facts->>'transfer_fee_paise')::bigint),
    transfer_tax_paise = coalesce(p.transfer_tax_paise, (p_facts->>'transfer_tax_paise')::bigint)
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id
  RETURNING * INTO payment;
  PERFORM book_fees(payment);
  UPDATE orders o SET payment_utr = payment.utr
  WHERE o.order_number = payment.order_number AND o.gateway = p_gateway
    AND o.gateway_payment_id = p_gateway_payment_id AND o.payment_utr IS DISTINCT FROM payment.utr;
END $$;

-- The gateway's id of what has moved the money of a line with this operation.
CREATE FUNCTION movement_of(p_gateway text, p_gateway_payment_id text, p_operation text) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE p_operation WHEN 'release' THEN gateway_transfer_id WHEN 'refund' THEN gateway_refund_id END
  FROM payments WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
$$;

-- True if the ledger has a line of the payment, other than those of fees: money of it was given to an
-- account.
CREATE FUNCTION is_booked(p_gateway text, p_gateway_payment_id text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM ledger_transfers
    WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
      AND operation = 'capture')
$$;

-- For how long a reported payment is left to the process that has received the report; then reconciliation continues.
CREATE FUNCTION left_to_its_process() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '30 seconds'
$$;

-- The order of a payment: that of its session, or the one that the gateway has copied from the session. Null if the
-- service has no such order at this gateway.
CREATE FUNCTION order_of_payment(
  p_gateway text, p_environment environment, p_order_number text, p_gateway_session_id text
) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT order_number FROM orders
  WHERE gateway = p_gateway AND environment = p_environment AND order_number = coalesce(
    (SELECT s.order_number FROM payment_sessions s WHERE s.gateway = p_gateway
      AND s.environment = p_environment AND s.gateway_session_id = p_gateway_session_id),
    p_order_number)
$$;

-- True once the buyer has all of a payment back: refunded at the gateway itself, charged back, or refunded by us.
CREATE FUNCTION is_wholly_refunded(p payments) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT p.gateway_status = 'refunded' OR p.amount_paise <= greatest(p.refunded_paise,
    (SELECT coalesce(sum(r.amount_paise), 0) FROM gateway_reversals r
      WHERE r.gateway = p.gateway AND r.gateway_payment_id = p.gateway_payment_id AND r.has_left)
    + (SELECT coalesce(sum(CASE t.operation WHEN 'refund' THEN t.amount_paise ELSE -t.amount_paise END), 0)
      FROM ledger_transfers t
      WHERE t.gateway = p.gateway AND t.gateway_payment_id = p.gateway_payment_id
        AND t.operation IN ('refund', 'refund_failed')))
$$;

-- Why an order of this status cannot take a whole capture; null if it can.
CREATE FUNCTION surplus_reason(status order_status, is_its_amount boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN NOT is_its_amount THEN 'wrong_amount' WHEN status = 'CANCELLED' THEN 'late_payment'
    WHEN NOT takes_payment(status) THEN 'already_paid' END
$$;

-- The captures that no order has taken and that are not refunded, with what is to be done next: 'notify' the order,
-- 'refund' it as surplus, or 'alert' that it is not whole. One that is not whole and has its alert needs nothing (null),
-- and is checked until all of it is refunded; then the order can be paid again.
CREATE VIEW unapplied_captures AS
SELECT p.gateway, p.gateway_payment_id, p.environment, p.order_number, p.captured_at,
  CASE WHEN s.gateway_payment_id IS NOT NULL THEN 'refund'
    WHEN NOT p.is_whole THEN CASE WHEN a.alert_id IS NULL THEN 'alert' END
    WHEN p.amount_paise <> o.amount_paise THEN 'refund'
    ELSE 'notify' END AS next
FROM payments p JOIN orders o USING (order_number)
LEFT JOIN surplus_refunds s ON s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id
LEFT JOIN LATERAL (SELECT alert_id FROM alerts
  WHERE NOT p.is_whole AND kind = 'unfit_capture'
    AND subject = gateway_subject(p.gateway, p.gateway_payment_id) LIMIT 1) a ON true
WHERE o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id AND s.processed_at IS NULL
  AND (p.is_whole OR s.gateway_payment_id IS NOT NULL OR a.alert_id IS NULL OR NOT is_wholly_refunded(p));

-- The callbacks whose payment the gateway has not confirmed. It is asked for a week.
CREATE VIEW unconfirmed_callbacks AS
SELECT * FROM gateway_callbacks
WHERE is_unconfirmed AND received_at > (SELECT service_now()) - interval '7 days';

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
-- there is none; only then can the order be paid.
CREATE FUNCTION unapplied_capture_of(p_order_number text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT min(state) FROM (
    SELECT CASE WHEN p.is_whole THEN 'confirmed' ELSE 'looked_at' END AS state
    FROM payments p JOIN orders o USING (order_number)
    WHERE p.order_number = p_order_number AND p.gateway = o.gateway
      AND o.gateway_payment_id IS DISTINCT FROM p.gateway_payment_id
      AND CASE WHEN p.is_whole THEN surplus_reason(o.status, p.amount_paise = o.amount_paise) IS NULL
        ELSE NOT is_wholly_refunded(p) END
      AND NOT EXISTS (SELECT FROM surplus_refunds s
        WHERE s.gateway = p.gateway AND s.gateway_payment_id = p.gateway_payment_id)
    UNION ALL
    SELECT 'reported' FROM unconfirmed_callbacks JOIN orders o USING (order_number)
    WHERE order_number = p_order_number AND takes_payment(o.status)
  ) AS unapplied
$$;

-- Ends the state unconfirmed of the callbacks that had reported a payment when the gateway was asked for it. For one
-- that came later, the gateway is asked again.
CREATE FUNCTION confirm_callbacks(p_gateway text, p_gateway_payment_id text, p_asked_at timestamptz) RETURNS void
LANGUAGE sql AS $$
  UPDATE gateway_callbacks SET is_unconfirmed = false
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id AND is_unconfirmed
    AND received_at <= p_asked_at
$$;

-- Ends the session of a capture, for the order `o`, which is locked: as paid, or so that the buyer can have another one.
CREATE FUNCTION end_session_of(payment payments, o orders, p_fits boolean) RETURNS void LANGUAGE plpgsql AS $$
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
      WHERE other.session_id = s.session_id AND other.is_whole
        AND other.amount_paise = o.amount_paise);
  -- While a capture is looked at, its order offers no payment: reconciliation closes the session at the gateway.
  UPDATE payment_sessions SET ended_at = service_now(), next_check_at = service_now()
  WHERE session_id = o.open_session_id AND session_id IS DISTINCT FROM payment.session_id
    AND state IN ('OPENING', 'OPEN') AND ended_at IS NULL AND unapplied_capture_of(o.order_number) IS NOT NULL;
  UPDATE orders SET open_session_id = NULL
  WHERE order_number = o.order_number AND (FOUND OR open_session_id = payment.session_id);
END $$;

-- Records a capture as the gateway's API has returned it, and ends its session: as paid, or, if the order cannot become
-- PAID by it, so that the buyer can have another session. It also ends the state of the callbacks that have reported
-- the capture, and claims it for the caller, who then does what is next. Like every writer it locks the order first. Of
-- a capture that an order has taken, or that is being refunded as surplus, only what was not known is added.
--
-- All results are null if the service does not have the order.
CREATE FUNCTION write_capture(
  p_gateway text, p_environment environment,
  p_payment jsonb,        -- gateway_payment_id, status, currency, amount_paise, refunded_paise, utr, fee_paise,
                          -- tax_paise; order_number, session_id, gateway_session_id; asked_ms_ago
  p_was_taken boolean,    -- its order took it before the database lost it: what was refunded since does not count
  OUT owner text,         -- the number of its order
  OUT merchant text,      -- the order's merchant
  OUT is_taken boolean,   -- the order has taken it
  OUT fits boolean,       -- the order can become, or has become, PAID by it
  OUT next text           -- see unapplied_captures; null also if another process has claimed it
) LANGUAGE plpgsql AS $$
DECLARE
  -- Before the wait for the lock.
  asked_at CONSTANT timestamptz
    := service_now() - (p_payment->>'asked_ms_ago')::float8 * interval '1 millisecond';
  id CONSTANT text := p_payment->>'gateway_payment_id';
  o orders;
  payment payments;
BEGIN
  SELECT * INTO o FROM orders WHERE order_number = order_of_payment(
    p_gateway, p_environment, p_payment->>'order_number', p_payment->>'gateway_session_id')
  FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  owner := o.order_number;
  merchant := o.merchant_id;
  is_taken := o.gateway_payment_id IS NOT DISTINCT FROM id;
  INSERT INTO payments (gateway, gateway_payment_id, environment, order_number, session_id,
    amount_paise, currency, gateway_status, refunded_paise, utr, captured_at, fee_paise, tax_paise)
  SELECT p_gateway, id, p_environment, o.order_number,
    (SELECT s.session_id FROM payment_sessions s WHERE s.order_number = o.order_number
      AND (s.gateway_session_id = p_payment->>'gateway_session_id' OR s.session_id = p_payment->>'session_id')
      ORDER BY s.gateway_session_id = p_payment->>'gateway_session_id' DESC NULLS LAST LIMIT 1),
    (p_payment->>'amount_paise')::bigint, p_payment->>'currency', p_payment->>'status',
    (p_payment->>'refunded_paise')::bigint, p_payment->>'utr', asked_at,
    (p_payment->>'fee_paise')::bigint, (p_payment->>'tax_paise')::bigint
  ON CONFLICT (gateway, gateway_payment_id) DO UPDATE
  SET gateway_status = CASE WHEN p_was_taken OR excluded.gateway_status = 'refunded'
      THEN excluded.gateway_status ELSE payments.gateway_status END,
    refunded_paise = CASE WHEN p_was_taken THEN excluded.refunded_paise
      ELSE greatest(payments.refunded_paise, excluded.refunded_paise) END,
    session_id = coalesce(payments.session_id, excluded.session_id),
    utr = coalesce(payments.utr, excluded.utr),
    fee_paise = coalesce(payments.fee_paise, excluded.fee_paise),
    tax_paise = coalesce(payments.tax_paise, excluded.tax_paise)
  WHERE payments.order_number = o.order_number AND NOT is_taken
    AND NOT EXISTS (SELECT FROM surplus_refunds s
      WHERE s.gateway = payments.gateway AND s.gateway_payment_id = payments.gateway_payment_id)
  RETURNING * INTO payment;
  PERFORM confirm_callbacks(p_gateway, id, asked_at);

  IF payment.gateway_payment_id IS NULL THEN
    -- An order has taken it, or it is being refunded.
    fits := is_taken;
    PERFORM write_late_facts(p_gateway, id, p_payment) FROM payments p
    WHERE p.gateway = p_gateway AND p.gateway_payment_id = id AND p.order_number = o.order_number;
  ELSE
    fits := payment.is_whole AND payment.amount_paise = o.amount_paise;
    PERFORM book_fees(payment);
    PERFORM end_session_of(payment, o, fits);
  END IF;

  UPDATE payments p SET notified_at = service_now() FROM unapplied_captures u
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = id AND p.order_number = o.order_number
    AND u.gateway = p_gateway AND u.gateway_payment_id = id
    AND coalesce(p.notified_at < service_now() - left_to_its_process(), true)
    -- What was reported after the gateway was asked may say more: it is asked again first.
    AND NOT EXISTS (SELECT FROM unconfirmed_callbacks c
      WHERE c.gateway = p_gateway AND c.gateway_payment_id = id)
    -- The sandbox's helper notifies the order itself, because its request waits for the result.
    AND (NOT takes_payment(o.status) OR p.captured_at < service_now() - left_to_its_process()
      OR NOT EXISTS (SELECT FROM payment_sessions s
        WHERE s.session_id = p.session_id AND s.pay_command_id IS NOT NULL))
  RETURNING u.next INTO next;
END $$;

-- True while the refund of a REFUNDED order has failed and is not made again.
CREATE FUNCTION has_failed_refund(o orders) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT o.status = 'REFUNDED' AND o.refund_processed_at IS NULL
$$;

-- True if a reversal at the gateway has reduced an order's payment, or may reduce it.
CREATE FUNCTION is_reversed(o orders) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway_reversals r
    WHERE r.gateway = o.gateway AND r.gateway_payment_id = o.gateway_payment_id
      AND r.blocks_release)
$$;

-- Why the release of an order cannot begin even after its window; null if it can.
CREATE FUNCTION release_blocked_by(o orders) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN NOT EXISTS (SELECT FROM merchants
      WHERE merchant_id = o.merchant_id AND status = 'APPROVED') THEN 'merchant_not_active'
    WHEN is_reversed(o) THEN 'reversed_at_gateway' END
$$;

-- True once an order's window is over and its release has not begun. VOLATILE like the clock, so that the planner
-- sees the status in the statements that call it.
CREATE FUNCTION is_release_due(o orders) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT o.status = 'DELIVERED' AND o.pending_operation IS NULL AND o.completes_at <= service_now()
$$;

-- True if an operator can settle an order with this outcome: its money is moving, some of it was reversed at the
-- gateway, or its refund has failed. p_phases: the statuses and pending operations in which the domain's lifecycle
-- takes such a settlement.
CREATE FUNCTION can_settle(o orders, p_outcome text, p_phases text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT (p_outcome = 'refunded' AND has_failed_refund(o))
    OR (coalesce(o.pending_operation->>'kind', o.status::text) = ANY (p_phases)
      AND (o.pending_operation IS NOT NULL OR is_reversed(o)))
$$;

-- The balance of a payment on an account. VOLATILE, so that it reads the lines as they are when it is called: a
-- statement that has waited for the order's lock would otherwise not see what was booked meanwhile.
CREATE FUNCTION balance_of(
  p_gateway text, p_gateway_payment_id text, p_account ledger_account
) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(sum(CASE p_account WHEN credit_account THEN amount_paise
    WHEN debit_account THEN -amount_paise END), 0)::bigint
  FROM ledger_transfers
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
$$;

-- Records a reversal and, once its money has left, a ledger line from the account that has the
-- payment's money, of at most its balance. The platform pays what is then left of a lost chargeback.
-- Like every writer it locks the order first. A reversal that has ended does not change.
CREATE FUNCTION write_reversal(
  p_gateway text, p_environment environment,
  p_reversal jsonb,    -- reversal_id, gateway_payment_id, kind, amount_paise, state
  p_was_asked boolean, -- the gateway's API has returned it: only then a chargeback that was won opens again
  p_alert jsonb        -- kind and details of the alert about the order that a new state raises, or NULL
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  reversal gateway_reversals;
  source ledger_account;
  paise bigint := 0;
  rest_paise bigint := 0;
BEGIN
  SELECT orders.* INTO o FROM payments p JOIN orders USING (order_number)
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = p_reversal->>'gateway_payment_id'
    AND p.environment = p_environment
  FOR NO KEY UPDATE OF orders;
  IF NOT FOUND THEN
    RETURN '{"outcome": "unknown_payment"}';
  END IF;
  INSERT INTO gateway_reversals AS known (gateway, reversal_id, gateway_payment_id, order_number,
    kind, amount_paise, state, ended_at)
  SELECT p_gateway, p_reversal->>'reversal_id', p_reversal->>'gateway_payment_id', o.order_number,
    p_reversal->>'kind', (p_reversal->>'amount_paise')::bigint, p_reversal->>'state',
    CASE WHEN p_reversal->>'state' NOT IN ('pending', 'open') THEN service_now() END
  ON CONFLICT (gateway, reversal_id) DO UPDATE
  SET state = excluded.state, amount_paise = excluded.amount_paise, ended_at = excluded.ended_at
  WHERE (known.state IN ('pending', 'open') OR (known.state = 'won' AND p_was_asked))
    AND known.state <> excluded.state AND known.gateway_payment_id = excluded.gateway_payment_id
  RETURNING * INTO reversal;
  IF reversal.reversal_id IS NOT NULL AND p_alert IS NOT NULL THEN
    PERFORM raise_alert(p_alert->>'kind', o.order_number,
      p_alert->'details' || jsonb_build_object('orderNumber', o.order_number));
  END IF;
  -- Its release may have waited for this.
  IF reversal.ended_at IS NOT NULL AND is_release_due(o) THEN
    INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
    VALUES (o.order_number, 'release', '', service_now()) ON CONFLICT DO NOTHING;
  END IF;
  IF reversal.reversal_id IS NULL OR NOT reversal.has_left THEN
    RETURN jsonb_build_object('orderNumber', o.order_number, 'outcome',
      CASE WHEN reversal.reversal_id IS NULL THEN 'known' ELSE 'recorded' END);
  END IF;

  -- At most one of these three has a balance.
  FOREACH source IN ARRAY '{merchant_held, merchant_available, surplus}'::ledger_account[] LOOP
    paise := least(reversal.amount_paise,
      balance_of(p_gateway, reversal.gateway_payment_id, source));
    EXIT WHEN paise > 0;
  END LOOP;
  -- If the payment has no lines, no account has any of its money.
  IF reversal.kind = 'chargeback' AND is_booked(p_gateway, reversal.gateway_payment_id) THEN
    rest_paise := reversal.amount_paise - paise;
  END IF;
  UPDATE gateway_reversals r
  SET booked_paise = paise, platform_paise = rest_paise
  WHERE r.gateway = p_gateway AND r.reversal_id = reversal.reversal_id;
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
    merchant_id, environment, debit_account, credit_account, amount_paise, reversal_id)
  SELECT p_gateway, reversal.gateway_payment_id, line.operation, o.order_number, o.merchant_id,
    o.environment, line.debit, 'refunds', line.paise, reversal.reversal_id
  FROM (VALUES ('reversal', source, paise), ('loss', 'platform_losses', rest_paise))
    AS line (operation, debit, paise)
  WHERE line.paise > 0;
  UPDATE orders SET reversed_paise = reversed_paise + reversal.amount_paise
  WHERE order_number = o.order_number AND gateway_payment_id = reversal.gateway_payment_id;
  -- No order has taken this payment, and a partly refunded one cannot be taken.
  UPDATE payments p SET refunded_paise = greatest(p.refunded_paise, (
    SELECT sum(r.amount_paise) FROM gateway_reversals r
    WHERE r.gateway = p.gateway AND r.gateway_payment_id = p.gateway_payment_id AND r.has_left))
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = reversal.gateway_payment_id
    AND NOT is_booked(p.gateway, p.gateway_payment_id);
  RETURN jsonb_build_object('outcome', 'recorded', 'orderNumber', o.order_number);
END $$;

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

-- What the database has of a payment's money for a settlement outside: what is left of it, and what its
-- reversals have taken or may take.
CREATE FUNCTION settlement_figures(
  p_gateway text, p_gateway_payment_id text,
  OUT rest_paise bigint, OUT refunded_paise bigint, OUT charged_back_paise bigint
) LANGUAGE sql STABLE AS $$
  SELECT balance_of(p_gateway, p_gateway_payment_id, 'merchant_held')
      + balance_of(p_gateway, p_gateway_payment_id, 'surplus'),
    coalesce(sum(amount_paise) FILTER (WHERE kind = 'refund'), 0)::bigint,
    coalesce(sum(amount_paise) FILTER (WHERE kind = 'chargeback'), 0)::bigint
  FROM gateway_reversals
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id AND blocks_release
$$;

-- True if the figures differ from those that a settlement was checked with.
CREATE FUNCTION figures_changed(
  p_gateway text, p_gateway_payment_id text, p_checked jsonb
) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT to_jsonb(f) <> jsonb_build_object('rest_paise', p_checked->'rest_paise',
    'refunded_paise', p_checked->'refunded_paise',
    'charged_back_paise', p_checked->'charged_back_paise')
  FROM settlement_figures(p_gateway, p_gateway_payment_id) f
$$;

-- True if a settlement of another order has the reference. Settlements with the same reference are
-- recorded one after the other, so that the second one finds the first.
CREATE FUNCTION is_reference_taken(p_reference text, p_order_number text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  IF p_reference IS NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('settlement ' || p_reference, 0));
  RETURN EXISTS (
    SELECT FROM outside_settlements
    WHERE reference = p_reference AND order_number <> p_order_number
    UNION ALL SELECT FROM surplus_refunds
    WHERE reference = p_reference AND order_number <> p_order_number);
END $$;

-- What an operator has said of a settlement outside.
CREATE FUNCTION settlement_facts(p_settlement jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'outcome', p_settlement->'outcome', 'reference', p_settlement->'reference',
    'reason', p_settlement->'reason', 'gateway',
    CASE WHEN NOT (p_settlement->>'is_checked')::boolean THEN 'not checked' END))
$$;

-- Records how an operator has settled an order. The caller holds the money lease of its payment, and has compared
-- the figures with the gateway's. Like every writer it locks the order first.
--
-- Returns recorded, settled (an earlier settlement is recorded), refused, changed or reference_taken.
CREATE FUNCTION write_settlement(
  p_order_number text,
  p_settlement jsonb,  -- outcome, reference, reason, is_checked, and the figures of settlement_figures
  p_actor jsonb,       -- name, address, request_id
  p_phases text[]      -- as in can_settle
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  o orders;
BEGIN
  SELECT * INTO STRICT o FROM orders WHERE order_number = p_order_number FOR UPDATE;
  IF EXISTS (SELECT FROM outside_settlements WHERE order_number = p_order_number) THEN
    RETURN 'settled';
  ELSIF NOT can_settle(o, p_settlement->>'outcome', p_phases) THEN
    RETURN 'refused';
  ELSIF figures_changed(o.gateway, o.gateway_payment_id, p_settlement) THEN
    RETURN 'changed';
  ELSIF is_reference_taken(p_settlement->>'reference', p_order_number) THEN
    RETURN 'reference_taken';
  END IF;
  INSERT INTO outside_settlements
    (order_number, outcome, amount_paise, reference, reason, actor, checked_at)
  VALUES (p_order_number, p_settlement->>'outcome', (p_settlement->>'rest_paise')::bigint,
    p_settlement->>'reference', p_settlement->>'reason', p_actor->>'name',
    CASE WHEN (p_settlement->>'is_checked')::boolean THEN service_now() END);
  INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
  VALUES (p_order_number, 'command', 'settle:' || p_order_number, service_now())
  ON CONFLICT DO NOTHING;
  -- The command is done with its record: the order may find that before it gets the message.
  INSERT INTO order_commands
    (order_number, command_id, name, state, body, actor, reason, address, request_id)
  VALUES (p_order_number, 'settle:' || p_order_number, 'settle', 'DONE',
    settlement_facts(p_settlement), p_actor->>'name', p_settlement->>'reason',
    p_actor->>'address', p_actor->>'request_id');
  RETURN 'recorded';
END $$;

-- Records that an operator has refunded a surplus capture outside the gateway, in the same way.
CREATE FUNCTION write_surplus_settlement(
  p_gateway text, p_gateway_payment_id text,
  p_settlement jsonb,  -- as above
  p_actor jsonb        -- name, address
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  o orders;
BEGIN
  SELECT orders.* INTO STRICT o FROM surplus_refunds s JOIN orders USING (order_number)
  WHERE s.gateway = p_gateway AND s.gateway_payment_id = p_gateway_payment_id FOR UPDATE OF orders;
  IF figures_changed(p_gateway, p_gateway_payment_id, p_settlement) THEN
    RETURN 'changed';
  ELSIF is_reference_taken(p_settlement->>'reference', o.order_number) THEN
    RETURN 'reference_taken';
  END IF;
  UPDATE surplus_refunds
  SET settled_paise = (p_settlement->>'rest_paise')::bigint, reference = p_settlement->>'reference'
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
    AND processed_at IS NULL;
  IF NOT FOUND THEN
    RETURN 'refused';
  END IF;
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  VALUES (p_actor->>'name', p_actor->>'address', 'surplus.settle', o.merchant_id,
    gateway_subject(p_gateway, p_gateway_payment_id),
    settlement_facts(p_settlement) || jsonb_build_object('orderNumber', o.order_number));
  RETURN 'recorded';
END $$;

-- Reserves the one open session of an order. It locks the order's row, so that no second session is
-- opened, and none while the order is closing its payment.
CREATE FUNCTION reserve_payment_session(
  p_order_number text, p_session_id text, p_session_ms bigint, p_request_id text
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  -- The contract's limit for one order.
  max_sessions CONSTANT integer := 20;
  -- How long a session blocks others when the process that was opening it has died.
  opening_for CONSTANT interval := '30 seconds';
  o orders;
  open payment_sessions;
  merchant merchants;
BEGIN
  SELECT * INTO STRICT o FROM orders WHERE order_number = p_order_number FOR UPDATE;
  IF NOT takes_payment(o.status) OR o.pending_operation IS NOT NULL OR o.payment_link_expires_at <= service_now()
    OR unapplied_capture_of(p_order_number) IS NOT NULL THEN
    RETURN 'refused';
  END IF;
  SELECT * INTO STRICT merchant FROM merchants WHERE merchant_id = o.merchant_id;
  IF merchant.status <> 'APPROVED' THEN
    RETURN 'not_active';
  END IF;
  -- Its funds could not be held.
  IF NOT is_merchant_ready(o.merchant_id, o.environment, o.gateway) THEN
    RETURN 'not_ready';
  END IF;
  SELECT * INTO open FROM payment_sessions WHERE session_id = o.open_session_id;
  IF open.state = 'OPEN' AND open.expires_at > service_now() THEN
    RETURN 'open';
  ELSIF open.state = 'OPENING'
    AND open.created_at > service_now() - opening_for THEN
    RETURN 'opening';
  ELSIF open.state = 'OPENING' THEN
    UPDATE payment_sessions SET state = 'FAILED', ended_at = service_now()
    WHERE session_id = open.session_id;
  END IF;
  IF (SELECT count(*) FROM payment_sessions
      WHERE order_number = p_order_number AND state <> 'FAILED') >= max_sessions THEN
    RETURN 'limit';
  END IF;
  INSERT INTO payment_sessions
    (session_id, order_number, environment, gateway, expires_at, request_id)
  VALUES (p_session_id, p_order_number, o.environment, o.gateway, least(o.payment_link_expires_at,
    service_now() + p_session_ms * interval '1 millisecond'), p_request_id);
  UPDATE orders SET open_session_id = p_session_id WHERE order_number = p_order_number;
  RETURN 'reserved';
END $$;

-- Adds the next lines of the ledger to ledger_days, at most p_lines of them. Returns how many.
--
-- transfer_id and booked_at are assigned before their line is committed, so a line may appear after one with
-- a larger id, or on a day that is over. Lines are therefore sealed in two steps: one run notes the largest id
-- and the time, a later one seals the lines up to it, when every transaction that had begun to write by then
-- has ended. The minute is longer than any statement of the service may take.
CREATE FUNCTION seal_ledger_lines(p_lines integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  -- Read before this transaction has an id, so that each transaction whose line is noted, or has a smaller
  -- id, has a smaller one. The xmax of a snapshot would not do: transactions under way may have larger ids.
  noted_at CONSTANT timestamptz := service_now();
  noted_to CONSTANT bigint := (SELECT coalesce(max(transfer_id), 0) FROM ledger_transfers);
  seal ledger_seal;
  last_id bigint;
  lines integer;
BEGIN
  SELECT * INTO seal FROM ledger_seal FOR UPDATE SKIP LOCKED;
  -- Another process is sealing.
  IF NOT FOUND THEN
    RETURN 0;
  END IF;
  IF seal.next_at > service_now() - interval '1 minute'
    OR pg_snapshot_xmin(pg_current_snapshot()) < seal.next_xid THEN
    RETURN 0;
  END IF;
  IF seal.next_to = seal.sealed_to THEN
    UPDATE ledger_seal SET
      complete_to = greatest(seal.complete_to, seal.next_at - interval '1 minute'),
      next_to = noted_to, next_at = noted_at, next_xid = pg_current_xact_id();
    RETURN 0;
  END IF;

  SELECT max(transfer_id), count(*) INTO last_id, lines FROM (
    SELECT transfer_id FROM ledger_transfers
    WHERE transfer_id > seal.sealed_to AND transfer_id <= seal.next_to
    ORDER BY transfer_id LIMIT p_lines
  ) AS next_lines;
  INSERT INTO ledger_days AS d
  SELECT merchant_id, environment, indian_day(booked_at), debit_account, credit_account,
    sum(amount_paise)
  FROM ledger_transfers WHERE transfer_id > seal.sealed_to AND transfer_id <= last_id
  GROUP BY merchant_id, environment, indian_day(booked_at), debit_account, credit_account
  ON CONFLICT (merchant_id, environment, day, debit_account, credit_account)
  DO UPDATE SET amount_paise = d.amount_paise + excluded.amount_paise;
  UPDATE ledger_seal SET sealed_to = last_id;
  RETURN lines;
END $$;
