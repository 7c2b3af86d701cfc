-- Books a reversal whose money has left: a line from the account that has the payment's money, of at most its balance.
-- The platform pays what is then left of a lost chargeback. The caller has locked the order.
CREATE FUNCTION book_reversal(o shared.orders, reversal gateway_reversals) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  source ledger_account;
  paise bigint := 0;
  rest_paise bigint := 0;
BEGIN
  -- At most one of these three has a balance.
  FOREACH source IN ARRAY '{merchant_held, merchant_available, surplus}'::ledger_account[] LOOP
    paise := least(reversal.amount_paise, balance_of(o.gateway, reversal.gateway_payment_id, source));
    EXIT WHEN paise > 0;
  END LOOP;
  -- If the payment has no lines, no account has any of its money.
  IF reversal.kind = 'chargeback' AND is_booked(o.gateway, reversal.gateway_payment_id) THEN
    rest_paise := reversal.amount_paise - paise;
  END IF;
  UPDATE gateway_reversals r
  SET booked_paise = paise, platform_paise = rest_paise
  WHERE r.gateway = o.gateway AND r.reversal_id = reversal.reversal_id;
  PERFORM book_line(o, reversal.gateway_payment_id, 'reversal', source, 'refunds', paise,
    p_reversal_id => reversal.reversal_id);
  PERFORM book_line(o, reversal.gateway_payment_id, 'loss', 'platform_losses', 'refunds', rest_paise,
    p_reversal_id => reversal.reversal_id);
END $$;

-- Books the reversals of a payment that had left when none of its accounts had its money: an order that was restored did
-- not have it yet, or a refund by the service, which has failed since, had taken it. The caller has locked the order.
CREATE FUNCTION book_waiting_reversals(o shared.orders, p_gateway_payment_id text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  reversal gateway_reversals;
BEGIN
  FOR reversal IN SELECT * FROM gateway_reversals r WHERE r.gateway = o.gateway
      AND r.gateway_payment_id = p_gateway_payment_id AND r.has_left AND r.booked_paise = 0 AND r.platform_paise = 0
      ORDER BY r.ended_at, r.reversal_id LOOP
    PERFORM book_reversal(o, reversal);
  END LOOP;
END $$;

-- Books what had left of the payment of a restored order and was recorded before the order had its payment again. Its
-- steps are written again before, because a release or refund among them came first.
CREATE FUNCTION book_restored_reversals(p_order_number text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
BEGIN
  SELECT * INTO STRICT o FROM shared.orders WHERE order_number = p_order_number FOR NO KEY UPDATE;
  PERFORM book_waiting_reversals(o, o.gateway_payment_id);
  UPDATE orders SET reversed_paise = (SELECT coalesce(sum(r.amount_paise), 0) FROM gateway_reversals r
    WHERE r.gateway = o.gateway AND r.gateway_payment_id = o.gateway_payment_id AND r.has_left)
  WHERE order_number = p_order_number;
END $$;

-- Records a reversal, and books it once its money has left. Like every writer it locks the order first. A reversal that
-- has ended does not change, but for a chargeback that was won; the outcome is `came_back` the first time that the gateway
-- says of one that has taken the money that it has not.
CREATE FUNCTION write_reversal(
  p_gateway text, p_environment environment,
  p_reversal jsonb,    -- reversal_id, gateway_payment_id, kind, amount_paise, state
  p_asked_at timestamptz, -- when the gateway's API was asked, which has returned it; null of a callback's report
  p_alert jsonb        -- kind and details of the alert about the order that a new state raises, or NULL
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  given CONSTANT gateway_reversals := jsonb_populate_record(NULL::gateway_reversals, p_reversal);
  o shared.orders;
  reversal gateway_reversals;
  came_back boolean := false;
BEGIN
  o := lock_order_of(p_gateway, given.gateway_payment_id);
  IF o.environment IS DISTINCT FROM p_environment THEN
    RETURN '{"outcome": "unknown_payment"}';
  END IF;
  INSERT INTO gateway_reversals AS known (gateway, reversal_id, gateway_payment_id, order_number,
    kind, amount_paise, state, asked_at, ended_at)
  SELECT p_gateway, given.reversal_id, given.gateway_payment_id, o.order_number, given.kind, given.amount_paise, given.state,
    p_asked_at, CASE WHEN given.state NOT IN ('pending', 'open') THEN service_now() END
  ON CONFLICT (gateway, reversal_id) DO UPDATE
  SET state = excluded.state, amount_paise = excluded.amount_paise, ended_at = excluded.ended_at,
    asked_at = coalesce(excluded.asked_at, known.asked_at)
  -- An answer changes nothing that a later question has answered. A chargeback that was won can open again.
  WHERE CASE known.state WHEN 'won' THEN coalesce(known.asked_at, known.ended_at) < excluded.asked_at
      ELSE known.state IN ('pending', 'open') AND coalesce(known.asked_at <= excluded.asked_at, true) END
    AND known.state <> excluded.state AND known.gateway_payment_id = excluded.gateway_payment_id
  RETURNING * INTO reversal;
  IF reversal.reversal_id IS NULL THEN
    UPDATE gateway_reversals SET asked_at = p_asked_at WHERE gateway = p_gateway AND reversal_id = given.reversal_id
      AND state = given.state AND p_asked_at > coalesce(asked_at, '-infinity');
  END IF;
  IF reversal.reversal_id IS NULL AND p_asked_at IS NOT NULL AND given.state IN ('failed', 'won') THEN
    UPDATE gateway_reversals SET came_back_at = service_now()
    WHERE gateway = p_gateway AND reversal_id = given.reversal_id AND has_left AND came_back_at IS NULL
      AND coalesce(asked_at <= p_asked_at, true);
    came_back := FOUND;
  END IF;
  IF p_alert IS NOT NULL AND (came_back OR
      reversal.reversal_id IS NOT NULL AND given.state NOT IN ('failed', 'won')) THEN
    PERFORM raise_alert(p_alert->>'kind', o.order_number,
      p_alert->'details' || jsonb_build_object('orderNumber', o.order_number));
  END IF;
  -- Its release may have waited for this.
  IF reversal.ended_at IS NOT NULL AND is_release_due(o) THEN
    INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
    VALUES (o.order_number, 'release', '', service_now())
    -- The sweep removes no line that is renewed after it has woken the order.
    ON CONFLICT (order_number, cause, cause_id) DO UPDATE SET due_at = excluded.due_at;
  END IF;
  IF reversal.reversal_id IS NULL OR NOT reversal.has_left THEN
    RETURN jsonb_build_object('orderNumber', o.order_number, 'outcome',
      CASE WHEN came_back THEN 'came_back' WHEN reversal.reversal_id IS NULL THEN 'known' ELSE 'recorded' END);
  END IF;

  PERFORM book_reversal(o, reversal);
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
