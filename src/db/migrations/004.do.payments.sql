CREATE TYPE session_state AS ENUM ('OPENING', 'OPEN', 'PAID', 'CLOSED', 'FAILED');

-- One try of a buyer to pay. orders.open_session_id names the one that may still be paid.
CREATE TABLE payment_sessions (
  session_id text PRIMARY KEY,
  order_number text NOT NULL REFERENCES orders,
  environment environment NOT NULL,
  state session_state NOT NULL DEFAULT 'OPENING',
  gateway_session_id text UNIQUE,
  upi_intent text,
  page_url text,
  expires_at timestamptz NOT NULL,
  -- When it could be paid no more: closed, or its order was paid or cancelled. Null for one that
  -- nothing has ended but time. Not before expires_at means that it had expired.
  ended_at timestamptz,
  -- The sandbox helper that pays this session: its request gets the answer of the PAID step.
  pay_request_id text,
  created_at timestamptz NOT NULL DEFAULT service_now(),
  -- When the gateway is asked next what became of it: never again, if null. See
  -- src/payments/session-queries.ts.
  next_check_at timestamptz,
  -- When it was last asked because somebody looked at the session; see src/payments/sessions.ts.
  looked_at timestamptz
);
CREATE INDEX payment_sessions_by_order ON payment_sessions (order_number, session_id);
CREATE INDEX payment_sessions_to_check ON payment_sessions (next_check_at)
  WHERE next_check_at IS NOT NULL;

-- When the gateway is asked about a session for the last time: long after it was over.
CREATE FUNCTION last_check_of(s payment_sessions) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT greatest(s.expires_at, s.created_at) + interval '1 hour'
$$;

-- Our record of what the gateway captured: a row is written when the gateway first says so.
-- Reconciliation looks at it again until its order has taken it, or it has been given back.
CREATE TABLE payments (
  gateway_payment_id text PRIMARY KEY,
  environment environment NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  session_id text REFERENCES payment_sessions,
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  -- What the gateway said of it, the last time before an order took it or it went back as surplus.
  currency text NOT NULL DEFAULT 'INR',
  gateway_status text NOT NULL DEFAULT 'captured',
  refunded_paise bigint NOT NULL DEFAULT 0 CHECK (refunded_paise >= 0),
  -- The whole amount is there, in our currency. Of any other capture an order must not become PAID,
  -- and it must not be refunded as surplus: it is recorded and alerted, and has no ledger line.
  is_whole boolean NOT NULL GENERATED ALWAYS AS
    (gateway_status = 'captured' AND currency = 'INR' AND refunded_paise = 0) STORED,
  -- The reference by which banks and UPI apps name it, if the gateway told us.
  utr text,
  captured_at timestamptz NOT NULL DEFAULT service_now(),
  -- The process that is moving this money at the gateway, see src/payments/money-lease.ts.
  money_lease_token text,
  money_lease_ends_at timestamptz,
  -- Razorpay Route: set aside for the merchant at the gateway.
  hold_started_at timestamptz,
  -- The gateway refused for good: it is asked again an hour later.
  hold_refused_at timestamptz,
  held_at timestamptz
);
CREATE INDEX payments_by_order ON payments (order_number);
-- What reconciliation looks for every minute.
CREATE INDEX payments_by_time ON payments (captured_at);
CREATE INDEX payments_unheld ON payments (captured_at) WHERE held_at IS NULL;

-- Writes down what the gateway says of a capture, and ends its session: as paid, or, when the order
-- cannot become PAID by it, so that the buyer can have another one. The order is locked first, as
-- everybody does. What an order has taken, or goes back as surplus, stays as it was.
CREATE FUNCTION write_capture(
  p_order_number text, p_session_id text, p_environment environment,
  p_payment jsonb      -- gateway_payment_id, status, currency, amount_paise, refunded_paise, utr
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  payment payments;
  fits boolean;
BEGIN
  SELECT * INTO STRICT o FROM orders WHERE order_number = p_order_number FOR NO KEY UPDATE;
  INSERT INTO payments (gateway_payment_id, environment, order_number, session_id, amount_paise,
    currency, gateway_status, refunded_paise, utr)
  SELECT p_payment->>'gateway_payment_id', p_environment, p_order_number,
    (SELECT session_id FROM payment_sessions
      WHERE session_id = p_session_id AND order_number = p_order_number),
    (p_payment->>'amount_paise')::bigint, p_payment->>'currency', p_payment->>'status',
    (p_payment->>'refunded_paise')::bigint, p_payment->>'utr'
  ON CONFLICT (gateway_payment_id) DO UPDATE
  SET gateway_status = CASE WHEN excluded.gateway_status = 'refunded' THEN 'refunded'
      ELSE payments.gateway_status END,
    refunded_paise = greatest(payments.refunded_paise, excluded.refunded_paise)
  WHERE payments.order_number = p_order_number
    AND o.gateway_payment_id IS DISTINCT FROM payments.gateway_payment_id
    AND NOT EXISTS (SELECT FROM surplus_refunds s
      WHERE s.gateway_payment_id = payments.gateway_payment_id)
  RETURNING * INTO payment;
  -- It belongs to an order already, or is going back.
  IF payment.gateway_payment_id IS NULL THEN
    RETURN o.gateway_payment_id IS NOT DISTINCT FROM p_payment->>'gateway_payment_id';
  END IF;

  fits := payment.is_whole AND payment.amount_paise = o.amount_paise;
  UPDATE payment_sessions s
  SET state = (CASE WHEN fits THEN 'PAID' ELSE 'CLOSED' END)::session_state,
    ended_at = coalesce(s.ended_at, service_now()),
    -- Only a second payment on it can be missed now.
    next_check_at = CASE WHEN fits THEN last_check_of(s) ELSE s.next_check_at END
  WHERE s.session_id = payment.session_id
    -- Another payment has paid it.
    AND (fits OR NOT EXISTS (SELECT FROM payments other
      WHERE other.session_id = s.session_id AND other.is_whole
        AND other.amount_paise = o.amount_paise));
  IF NOT fits THEN
    UPDATE orders SET open_session_id = NULL
    WHERE order_number = p_order_number AND open_session_id = payment.session_id;
  END IF;
  RETURN fits;
END $$;

-- Attempts that failed, so that a callback that comes twice is one PAYMENT_FAILED.
CREATE TABLE failed_payments (
  gateway_payment_id text PRIMARY KEY,
  order_number text NOT NULL REFERENCES orders,
  at timestamptz NOT NULL DEFAULT service_now()
);

-- What the gateway called back with, as it came, before anything is done about it.
CREATE TABLE gateway_callbacks (
  callback_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  environment environment NOT NULL,
  event_id text NOT NULL,
  event text NOT NULL,
  body text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT service_now()
);
CREATE INDEX gateway_callbacks_by_event ON gateway_callbacks (environment, event_id);

-- A capture that its order cannot take, given back in full: once for each gateway payment.
CREATE TABLE surplus_refunds (
  gateway_payment_id text PRIMARY KEY REFERENCES payments,
  order_number text NOT NULL REFERENCES orders,
  amount_paise bigint NOT NULL,
  reason text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT service_now(),
  processed_at timestamptz
);
CREATE INDEX surplus_refunds_by_order ON surplus_refunds (order_number);

-- Money of a payment that was refunded at the gateway by somebody else than this service, or is
-- charged back by the buyer's bank: known by the gateway's id of it.
CREATE TABLE gateway_reversals (
  reversal_id text PRIMARY KEY,
  gateway_payment_id text NOT NULL REFERENCES payments,
  order_number text NOT NULL REFERENCES orders,
  kind text NOT NULL CHECK (kind IN ('refund', 'chargeback')),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  state text NOT NULL CHECK (
    (kind = 'refund' AND state IN ('pending', 'processed', 'failed'))
    OR (kind = 'chargeback' AND state IN ('open', 'won', 'lost'))),
  -- The money is gone, and the ledger says so.
  has_left boolean NOT NULL GENERATED ALWAYS AS (state IN ('processed', 'lost')) STORED,
  -- It is gone or may go: the funds are not released while it stands.
  blocks_release boolean NOT NULL
    GENERATED ALWAYS AS (state IN ('pending', 'processed', 'open', 'lost')) STORED,
  -- What its line in the ledger takes from the payment's money: less than its amount only where
  -- less was left.
  booked_paise bigint NOT NULL DEFAULT 0 CHECK (booked_paise BETWEEN 0 AND amount_paise),
  noted_at timestamptz NOT NULL DEFAULT service_now(),
  -- When we heard how it ended.
  ended_at timestamptz,
  -- When the gateway was last asked about a chargeback that is open.
  checked_at timestamptz
);
CREATE INDEX gateway_reversals_by_payment ON gateway_reversals (gateway_payment_id);
CREATE INDEX gateway_reversals_by_order ON gateway_reversals (order_number);
CREATE INDEX gateway_reversals_open ON gateway_reversals (checked_at) WHERE state = 'open';

-- What an operator says of where an order's money is: moved outside the gateway after the gateway
-- refused for good, or gone there without this service.
CREATE TABLE outside_settlements (
  order_number text PRIMARY KEY REFERENCES orders,
  -- Whose the money counts as: this chooses the order's final status and its event.
  outcome text NOT NULL CHECK (outcome IN ('released', 'refunded')),
  -- Of the bank transfer; null when no money was moved for it.
  reference text,
  reason text NOT NULL,
  actor text NOT NULL,
  at timestamptz NOT NULL DEFAULT service_now(),
  -- When the order found it by itself, at its next try to move the money.
  found_at timestamptz
);

-- Double entry by construction: a line takes from one account what it gives to another, so the sum
-- over all accounts is zero at all times. Append-only.
CREATE TYPE ledger_account AS ENUM (
  'gateway_clearing', 'merchant_held', 'merchant_available', 'surplus', 'refunds'
);
CREATE TABLE ledger_transfers (
  transfer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway_payment_id text NOT NULL REFERENCES payments,
  operation text NOT NULL CHECK (operation IN ('capture', 'release', 'refund', 'reversal')),
  order_number text NOT NULL REFERENCES orders,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  debit_account ledger_account NOT NULL,
  credit_account ledger_account NOT NULL CHECK (credit_account <> debit_account),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  at timestamptz NOT NULL DEFAULT service_now(),
  -- Of a reversal: which one.
  reversal_id text UNIQUE REFERENCES gateway_reversals,
  CHECK ((operation = 'reversal') = (reversal_id IS NOT NULL)),
  CONSTRAINT ledger_transfers_gateway_payment_id_operation_key
    UNIQUE NULLS NOT DISTINCT (gateway_payment_id, operation, reversal_id)
);
CREATE INDEX ledger_transfers_by_order ON ledger_transfers (order_number);
-- What is left of money that came in goes out once: released to the merchant or refunded, never both.
CREATE UNIQUE INDEX ledger_transfers_one_way_out ON ledger_transfers (gateway_payment_id)
  WHERE operation IN ('release', 'refund');

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Some of an order's payment has left at the gateway without this service, or may leave.
CREATE FUNCTION is_reversed(o orders) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway_reversals r
    WHERE r.gateway_payment_id = o.gateway_payment_id AND r.blocks_release)
$$;

-- What stands on an account of a payment's money.
CREATE FUNCTION balance_of(p_gateway_payment_id text, p_account ledger_account) RETURNS bigint
LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(CASE p_account WHEN credit_account THEN amount_paise
    WHEN debit_account THEN -amount_paise END), 0)::bigint
  FROM ledger_transfers WHERE gateway_payment_id = p_gateway_payment_id
$$;

-- Writes down what the gateway says of a refund that is not ours, or of a chargeback, and the line in
-- the ledger once the money is gone: from where the payment's money stands, and no more than that.
-- The order is locked first, as everybody does. What has ended stays as it ended.
CREATE FUNCTION write_reversal(
  p_environment environment,
  p_reversal jsonb     -- reversal_id, gateway_payment_id, kind, amount_paise, state
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  reversal gateway_reversals;
  source ledger_account;
  paise bigint := 0;
BEGIN
  SELECT orders.* INTO o FROM payments p JOIN orders USING (order_number)
  WHERE p.gateway_payment_id = p_reversal->>'gateway_payment_id' AND p.environment = p_environment
  FOR NO KEY UPDATE OF orders;
  IF NOT FOUND THEN
    RETURN '{"outcome": "unknown_payment"}';
  END IF;
  INSERT INTO gateway_reversals AS known (reversal_id, gateway_payment_id, order_number, kind,
    amount_paise, state, ended_at)
  SELECT p_reversal->>'reversal_id', p_reversal->>'gateway_payment_id', o.order_number,
    p_reversal->>'kind', (p_reversal->>'amount_paise')::bigint, p_reversal->>'state',
    CASE WHEN p_reversal->>'state' NOT IN ('pending', 'open') THEN service_now() END
  ON CONFLICT (reversal_id) DO UPDATE
  SET state = excluded.state, amount_paise = excluded.amount_paise, ended_at = excluded.ended_at
  WHERE known.state IN ('pending', 'open') AND known.state <> excluded.state
    AND known.gateway_payment_id = excluded.gateway_payment_id
  RETURNING * INTO reversal;
  IF reversal.reversal_id IS NULL OR NOT reversal.has_left THEN
    RETURN jsonb_build_object('order_number', o.order_number, 'outcome',
      CASE WHEN reversal.reversal_id IS NULL THEN 'known' ELSE 'noted' END);
  END IF;

  -- One of these three at most has any of it.
  FOREACH source IN ARRAY '{merchant_held, merchant_available, surplus}'::ledger_account[] LOOP
    paise := least(reversal.amount_paise, balance_of(reversal.gateway_payment_id, source));
    EXIT WHEN paise > 0;
  END LOOP;
  IF paise > 0 THEN
    UPDATE gateway_reversals SET booked_paise = paise WHERE reversal_id = reversal.reversal_id;
    INSERT INTO ledger_transfers (gateway_payment_id, operation, order_number, merchant_id,
      environment, debit_account, credit_account, amount_paise, reversal_id)
    VALUES (reversal.gateway_payment_id, 'reversal', o.order_number, o.merchant_id, o.environment,
      source, 'refunds', paise, reversal.reversal_id);
  END IF;
  -- Nobody has this payment yet, and with some of it gone nobody can have it.
  UPDATE payments p SET refunded_paise = greatest(p.refunded_paise, reversal.amount_paise)
  WHERE p.gateway_payment_id = reversal.gateway_payment_id AND NOT EXISTS (
    SELECT FROM ledger_transfers t WHERE t.gateway_payment_id = p.gateway_payment_id);
  RETURN jsonb_build_object('outcome', 'noted', 'order_number', o.order_number);
END $$;

-- Reserves the one session that an order may have open. Locks the order's row, so that it cannot
-- slip in beside another one, or while the order is closing its payment.
CREATE FUNCTION reserve_payment_session(
  p_order_number text, p_session_id text, p_session_ms bigint,
  p_max_sessions integer, p_opening_seconds integer
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  open payment_sessions;
  merchant merchants;
BEGIN
  SELECT * INTO STRICT o FROM orders WHERE order_number = p_order_number FOR UPDATE;
  IF o.status <> 'ACCEPTED' OR o.busy IS NOT NULL OR o.payment_link_expires_at <= service_now() THEN
    RETURN 'refused';
  END IF;
  SELECT * INTO STRICT merchant FROM merchants WHERE merchant_id = o.merchant_id;
  IF merchant.status <> 'APPROVED' THEN
    RETURN 'refused';
  END IF;
  -- Its funds could not be set aside. The sandbox makes an account when it first needs one.
  IF o.environment = 'production' AND merchant.linked_accounts->>'production' IS NULL THEN
    RETURN 'no_account';
  END IF;
  SELECT * INTO open FROM payment_sessions WHERE session_id = o.open_session_id;
  -- Captured already, and the order is about to hear of it.
  IF open.state = 'PAID' THEN
    RETURN 'refused';
  END IF;
  IF open.state = 'OPEN' AND open.expires_at > service_now() THEN
    RETURN 'open';
  ELSIF open.state = 'OPENING'
    AND open.created_at > service_now() - p_opening_seconds * interval '1 second' THEN
    RETURN 'opening';
  ELSIF open.state = 'OPENING' THEN
    UPDATE payment_sessions SET state = 'FAILED', ended_at = service_now()
    WHERE session_id = open.session_id;
  END IF;
  IF (SELECT count(*) FROM payment_sessions
      WHERE order_number = p_order_number AND state <> 'FAILED') >= p_max_sessions THEN
    RETURN 'limit';
  END IF;
  INSERT INTO payment_sessions (session_id, order_number, environment, expires_at)
  VALUES (p_session_id, p_order_number, o.environment, least(o.payment_link_expires_at,
    service_now() + p_session_ms * interval '1 millisecond'));
  UPDATE orders SET open_session_id = p_session_id WHERE order_number = p_order_number;
  RETURN 'reserved';
END $$;

-- The session that a request with a key was answered with, for its repeats.
CREATE TABLE payment_session_keys (
  order_number text NOT NULL REFERENCES orders,
  idempotency_key text NOT NULL,
  session_id text NOT NULL REFERENCES payment_sessions,
  PRIMARY KEY (order_number, idempotency_key)
);
