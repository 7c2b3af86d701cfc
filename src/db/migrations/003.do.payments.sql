CREATE TYPE session_state AS ENUM ('OPENING', 'OPEN', 'PAID', 'CLOSED', 'FAILED');

-- One try of a buyer to pay. orders.open_session_id names the one that may still be paid.
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
  looked_at timestamptz,
  UNIQUE (gateway, gateway_session_id)
);
CREATE INDEX payment_sessions_by_order ON payment_sessions (order_number, session_id);
CREATE INDEX payment_sessions_to_check ON payment_sessions (next_check_at)
  WHERE next_check_at IS NOT NULL;

-- The session that a request with a key was answered with, for its repeats.
CREATE TABLE payment_session_keys (
  order_number text NOT NULL REFERENCES orders,
  idempotency_key text NOT NULL,
  session_id text NOT NULL REFERENCES payment_sessions,
  PRIMARY KEY (order_number, idempotency_key)
);

-- Our record of what the gateway captured: a row is written when the gateway first says so.
-- Reconciliation looks at it again until its order has taken it, or it has been given back.
CREATE TABLE payments (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
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
  -- Set aside for the merchant at the gateway.
  hold_started_at timestamptz,
  -- The gateway refused for good: it is asked again an hour later.
  hold_refused_at timestamptz,
  held_at timestamptz,
  PRIMARY KEY (gateway, gateway_payment_id)
);
CREATE INDEX payments_by_order ON payments (order_number);
-- What reconciliation looks for every minute.
CREATE INDEX payments_by_time ON payments (captured_at);
CREATE INDEX payments_unheld ON payments (captured_at) WHERE held_at IS NULL;
CREATE INDEX payments_by_utr ON payments (utr) WHERE utr IS NOT NULL;

-- Attempts that failed, so that a callback that comes twice is one PAYMENT_FAILED.
CREATE TABLE failed_payments (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  at timestamptz NOT NULL DEFAULT service_now(),
  PRIMARY KEY (gateway, gateway_payment_id)
);

-- What the gateway called back with, as it came, before anything is done about it.
CREATE TABLE gateway_callbacks (
  callback_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway text NOT NULL,
  environment environment NOT NULL,
  event_id text NOT NULL,
  event text NOT NULL,
  body text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT service_now()
);
CREATE INDEX gateway_callbacks_by_event ON gateway_callbacks (gateway, environment, event_id);

-- A capture that its order cannot take, given back in full: once for each gateway payment.
CREATE TABLE surplus_refunds (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  amount_paise bigint NOT NULL,
  reason text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT service_now(),
  processed_at timestamptz,
  PRIMARY KEY (gateway, gateway_payment_id),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments
);
CREATE INDEX surplus_refunds_by_order ON surplus_refunds (order_number);

-- Money of a payment that was refunded at the gateway by somebody else than this service, or is
-- charged back by the buyer's bank: known by the gateway's id of it.
CREATE TABLE gateway_reversals (
  gateway text NOT NULL,
  reversal_id text NOT NULL,
  gateway_payment_id text NOT NULL,
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
  checked_at timestamptz,
  PRIMARY KEY (gateway, reversal_id),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments
);
CREATE INDEX gateway_reversals_by_payment ON gateway_reversals (gateway, gateway_payment_id);
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
CREATE INDEX outside_settlements_by_reference ON outside_settlements (reference);

-- Double entry by construction: a line takes from one account what it gives to another, so the sum
-- over all accounts is zero at all times. Append-only.
CREATE TYPE ledger_account AS ENUM (
  'gateway_clearing', 'merchant_held', 'merchant_available', 'surplus', 'refunds'
);
CREATE TABLE ledger_transfers (
  transfer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  operation text NOT NULL CHECK (operation IN ('capture', 'release', 'refund', 'reversal')),
  order_number text NOT NULL REFERENCES orders,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  debit_account ledger_account NOT NULL,
  credit_account ledger_account NOT NULL CHECK (credit_account <> debit_account),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  at timestamptz NOT NULL DEFAULT service_now(),
  -- Of a reversal: which one.
  reversal_id text,
  CHECK ((operation = 'reversal') = (reversal_id IS NOT NULL)),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments,
  FOREIGN KEY (gateway, reversal_id) REFERENCES gateway_reversals,
  UNIQUE (gateway, reversal_id),
  CONSTRAINT ledger_transfers_payment_operation_key
    UNIQUE NULLS NOT DISTINCT (gateway, gateway_payment_id, operation, reversal_id)
);
CREATE INDEX ledger_transfers_by_order ON ledger_transfers (order_number);
-- What is left of money that came in goes out once: released to the merchant or refunded, never both.
CREATE UNIQUE INDEX ledger_transfers_one_way_out ON ledger_transfers (gateway, gateway_payment_id)
  WHERE operation IN ('release', 'refund');
