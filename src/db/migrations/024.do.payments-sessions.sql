CREATE TYPE session_state AS ENUM ('OPENING', 'OPEN', 'PAID', 'CLOSED', 'FAILED');

-- One offer to pay at the gateway. orders.open_session_id names the one that can still be paid.
CREATE TABLE payment_sessions (
  session_id text PRIMARY KEY,
  order_number text NOT NULL REFERENCES orders,
  environment environment NOT NULL,
  gateway text NOT NULL,
  state session_state NOT NULL DEFAULT 'OPENING',
  gateway_session_id text,
  upi_intent text,
  page_url text,
  expires_at timestamptz NOT NULL,
  -- When it was closed, or its order was paid or cancelled. Null if it only expired. A time not
  -- before expires_at means that it had expired.
  ended_at timestamptz,
  -- The command of the sandbox helper that pays this session: the PAID step answers it.
  pay_command_id text,
  created_at timestamptz NOT NULL DEFAULT service_now(),
  -- When the session is next checked at the gateway; null if it is not checked any more. See
  -- src/payments/sessions/session-queries.ts.
  next_check_at timestamptz,
  -- When a request for the session last made the service check it; see src/payments/sessions/sessions.ts.
  looked_at timestamptz,
  -- The request that opened it.
  request_id text,
  UNIQUE (gateway, gateway_session_id)
);
CREATE VIEW shared.payment_sessions AS SELECT session_id, order_number, environment, gateway, state, gateway_session_id,
  upi_intent, page_url, expires_at, ended_at, pay_command_id, created_at, request_id FROM payment_sessions;
CREATE INDEX payment_sessions_by_order ON payment_sessions (order_number, session_id);
CREATE INDEX payment_sessions_to_check ON payment_sessions (next_check_at)
  WHERE next_check_at IS NOT NULL;
CREATE INDEX payment_sessions_by_request ON payment_sessions (request_id)
  WHERE request_id IS NOT NULL;

-- The session that a request with an Idempotency-Key returned, for its repeats.
CREATE TABLE payment_session_keys (
  order_number text NOT NULL REFERENCES orders,
  idempotency_key text NOT NULL,
  session_id text NOT NULL REFERENCES payment_sessions,
  PRIMARY KEY (order_number, idempotency_key)
);

-- When a session is checked at the gateway for the last time: an hour after its expiry.
CREATE FUNCTION last_check_of(s payment_sessions) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(s.expires_at, s.created_at) + interval '1 hour'
$$;

-- Ends a session that is open, before the gateway has closed it: reconciliation does that.
CREATE FUNCTION end_open_session(p_session_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE payment_sessions SET ended_at = service_now(), next_check_at = service_now()
  WHERE session_id = p_session_id AND state IN ('OPENING', 'OPEN') AND ended_at IS NULL;
  RETURN FOUND;
END $$;

-- Moves the times of a session with the deadline of its sandbox order.
CREATE FUNCTION advance_session(p_session_id text, p_by interval) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE payment_sessions SET expires_at = expires_at - p_by, next_check_at = next_check_at - p_by
  WHERE session_id = p_session_id;
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
  o shared.orders;
  open payment_sessions;
BEGIN
  SELECT * INTO STRICT o FROM shared.orders WHERE order_number = p_order_number FOR NO KEY UPDATE;
  IF NOT takes_payment(o.status) OR o.pending_operation IS NOT NULL OR o.payment_link_expires_at <= service_now()
    OR unapplied_capture_of(p_order_number) IS NOT NULL THEN
    RETURN 'refused';
  END IF;
  IF (SELECT status FROM shared.merchants WHERE merchant_id = o.merchant_id) <> 'APPROVED' THEN
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
    WHERE session_id = open.session_id AND gateway_session_id IS NULL;
    IF NOT FOUND THEN
      RETURN 'open';  -- since it was read
    END IF;
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
