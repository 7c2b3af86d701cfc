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

-- A capture that the gateway's API has returned; a callback alone writes none. Reconciliation checks it until its
-- order has taken it or it is refunded.
CREATE TABLE payments (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  environment environment NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  session_id text REFERENCES payment_sessions,
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  -- As the gateway last reported it, until an order took it or its surplus refund began.
  currency text NOT NULL DEFAULT 'INR',
  gateway_status text NOT NULL DEFAULT 'captured',
  refunded_paise bigint NOT NULL DEFAULT 0 CHECK (refunded_paise >= 0),
  -- True if the whole amount is captured in INR. Any other capture neither makes an order PAID nor is refunded as
  -- surplus: it is recorded and raises an alert, and has no ledger line.
  is_whole boolean NOT NULL GENERATED ALWAYS AS
    (gateway_status = 'captured' AND currency = 'INR' AND refunded_paise = 0) STORED,
  -- Its reference at banks and in UPI apps, if the gateway reports it.
  utr text,
  -- When the gateway's API was asked and first returned it.
  captured_at timestamptz NOT NULL DEFAULT service_now(),
  -- When a process began to notify the order of it.
  notified_at timestamptz,
  -- The process that is moving this money at the gateway: see src/payments/funds/money-lease.ts.
  money_lease_token text,
  money_lease_ends_at timestamptz,
  -- When a hold of the funds at the gateway was last tried.
  hold_started_at timestamptz,
  -- When the gateway refused the hold; the service tries again an hour later.
  hold_refused_at timestamptz,
  held_at timestamptz,
  -- Its transfers that were accepted and failed later, and that operators were told of.
  transfer_failures integer NOT NULL DEFAULT 0,
  -- When the gateway last refused its transfer or refund because the platform's balance is too small; null once
  -- either was made, or was refused for another reason.
  balance_refused_at timestamptz,
  -- What the gateway has charged the platform for it and for its transfer, with the tax in it; null while
  -- the gateway's API has not reported it.
  fee_paise bigint CHECK (fee_paise >= 0),
  tax_paise bigint CHECK (tax_paise BETWEEN 0 AND fee_paise),
  transfer_fee_paise bigint CHECK (transfer_fee_paise >= 0),
  transfer_tax_paise bigint CHECK (transfer_tax_paise BETWEEN 0 AND transfer_fee_paise),
  -- The gateway's ids of its transfer and of this service's latest refund of it, once they are made.
  gateway_transfer_id text,
  gateway_refund_id text,
  PRIMARY KEY (gateway, gateway_payment_id)
);
CREATE INDEX payments_by_order ON payments (order_number);
-- Reconciliation reads this index every minute.
CREATE INDEX payments_by_time ON payments (captured_at);
CREATE INDEX payments_unheld ON payments (captured_at) WHERE held_at IS NULL;
CREATE INDEX payments_lacking_balance ON payments (gateway, environment, balance_refused_at)
  WHERE balance_refused_at IS NOT NULL;
CREATE INDEX payments_by_utr ON payments (utr) WHERE utr IS NOT NULL;
-- Who asks about a payment, its transfer or its refund knows the id, and not the gateway.
CREATE INDEX payments_by_id ON payments (gateway_payment_id);
CREATE INDEX payments_by_transfer ON payments (gateway_transfer_id)
  WHERE gateway_transfer_id IS NOT NULL;
CREATE INDEX payments_by_refund ON payments (gateway_refund_id)
  WHERE gateway_refund_id IS NOT NULL;

-- Each callback as received, written before it is processed.
CREATE TABLE gateway_callbacks (
  callback_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway text NOT NULL,
  environment environment NOT NULL,
  event_id text NOT NULL,
  event text NOT NULL,
  body text NOT NULL,
  received_at timestamptz NOT NULL DEFAULT service_now(),
  -- The captured payment that it reports, or of which it reports a reversal; null of other events.
  gateway_payment_id text,
  -- The order of a captured payment, if the service has it.
  order_number text,
  -- The gateway's API has not returned the payment yet, or not as the callback reports it. Until then its order
  -- offers no payment, and reconciliation asks the gateway: see unconfirmed_callbacks.
  is_unconfirmed boolean NOT NULL DEFAULT false CHECK (NOT is_unconfirmed OR gateway_payment_id IS NOT NULL)
);
CREATE INDEX gateway_callbacks_by_event ON gateway_callbacks (gateway, environment, event_id);
CREATE INDEX gateway_callbacks_unconfirmed ON gateway_callbacks (gateway_payment_id) WHERE is_unconfirmed;
CREATE INDEX gateway_callbacks_unconfirmed_of_order ON gateway_callbacks (order_number) WHERE is_unconfirmed;

-- The refund of a capture that its order cannot take: once for each gateway payment.
CREATE TABLE surplus_refunds (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  amount_paise bigint NOT NULL,
  reason text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT service_now(),
  -- Also null while a failed refund is repeated.
  processed_at timestamptz,
  -- The amount that an operator recorded as refunded outside the gateway; null if none did.
  settled_paise bigint CHECK (settled_paise >= 0),
  -- The reference of the bank transfer; null if there was none.
  reference text,
  PRIMARY KEY (gateway, gateway_payment_id),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments
);
CREATE INDEX surplus_refunds_by_order ON surplus_refunds (order_number);
CREATE INDEX surplus_refunds_by_reference ON surplus_refunds (reference)
  WHERE reference IS NOT NULL;

-- A refund made at the gateway without this service, or a chargeback by the buyer's bank, with the
-- gateway's id.
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
  -- The money has left, and the ledger has a line for it.
  has_left boolean NOT NULL GENERATED ALWAYS AS (state IN ('processed', 'lost')) STORED,
  -- The money has left or may leave: the funds are not released meanwhile.
  blocks_release boolean NOT NULL
    GENERATED ALWAYS AS (state IN ('pending', 'processed', 'open', 'lost')) STORED,
  -- The amount of its ledger line: less than amount_paise only if less of the payment was left.
  booked_paise bigint NOT NULL DEFAULT 0 CHECK (booked_paise BETWEEN 0 AND amount_paise),
  -- The rest of a lost chargeback, which the platform pays.
  platform_paise bigint NOT NULL DEFAULT 0
    CHECK (platform_paise BETWEEN 0 AND amount_paise - booked_paise),
  recorded_at timestamptz NOT NULL DEFAULT service_now(),
  -- When its end was recorded.
  ended_at timestamptz,
  -- When an open chargeback was last checked at the gateway.
  checked_at timestamptz,
  PRIMARY KEY (gateway, reversal_id),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments
);
CREATE INDEX gateway_reversals_by_payment ON gateway_reversals (gateway, gateway_payment_id);
CREATE INDEX gateway_reversals_by_order ON gateway_reversals (order_number);
CREATE INDEX gateway_reversals_by_id ON gateway_reversals (reversal_id);
CREATE INDEX gateway_reversals_open ON gateway_reversals (checked_at) WHERE state = 'open';

-- An operator's record of where an order's money is: moved outside the gateway after the gateway
-- refused, or moved at the gateway without this service.
CREATE TABLE outside_settlements (
  order_number text PRIMARY KEY REFERENCES orders,
  -- Decides the order's final status and its event.
  outcome text NOT NULL CHECK (outcome IN ('released', 'refunded')),
  -- What the payment had left, which counts as moved by the settlement.
  amount_paise bigint NOT NULL CHECK (amount_paise >= 0),
  -- The reference of the bank transfer; null if there was none.
  reference text,
  reason text NOT NULL,
  actor text NOT NULL,
  at timestamptz NOT NULL DEFAULT service_now(),
  -- When the refunds and transfers at the gateway were compared with it; null if the gateway could not
  -- be read and the operator confirmed that.
  checked_at timestamptz,
  -- When the order read it at its next attempt to move the money.
  found_at timestamptz
);
-- A reference belongs to one order; see also is_reference_taken.
CREATE UNIQUE INDEX outside_settlements_by_reference ON outside_settlements (reference)
  WHERE reference IS NOT NULL;

-- Double entry: a line debits one account and credits another with the same amount, so the sum over
-- all accounts is always zero. Append-only.
CREATE TYPE ledger_account AS ENUM (
  'gateway_clearing', 'merchant_held', 'merchant_available', 'surplus', 'refunds', 'platform_losses',
  'gateway_fees'
);
-- Whether a line moves money of the order's merchant. Surplus captures, fees and what the platform pays for
-- chargebacks are no merchant's money.
CREATE FUNCTION is_merchants_money(debit ledger_account, credit ledger_account) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT debit IN ('merchant_held', 'merchant_available') OR credit = 'merchant_held'
$$;

CREATE TABLE ledger_transfers (
  transfer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  operation text NOT NULL
    CHECK (operation IN ('capture', 'release', 'refund', 'refund_failed', 'reversal', 'loss',
      'payment_fee', 'transfer_fee')),
  order_number text NOT NULL REFERENCES orders,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  debit_account ledger_account NOT NULL,
  credit_account ledger_account NOT NULL CHECK (credit_account <> debit_account),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  -- The time of the step.
  at timestamptz NOT NULL DEFAULT service_now(),
  -- When the line was inserted: it belongs to this day, also if its step is recorded late.
  booked_at timestamptz NOT NULL DEFAULT service_now(),
  -- The gateway's id of the transfer that was released or of the refund; null for other lines, and where the service
  -- does not know it.
  movement_id text CHECK (movement_id IS NULL OR operation IN ('release', 'refund', 'refund_failed')),
  -- Set only for a reversal, and for the platform's loss by it.
  reversal_id text,
  CHECK ((operation IN ('reversal', 'loss')) = (reversal_id IS NOT NULL)),
  -- The number of refunds of this payment that have failed before, after they were booked.
  refund_try integer NOT NULL DEFAULT 0
    CHECK (refund_try = 0 OR operation IN ('refund', 'refund_failed')),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments,
  FOREIGN KEY (gateway, reversal_id) REFERENCES gateway_reversals,
  UNIQUE (gateway, reversal_id, operation),
  CONSTRAINT ledger_transfers_payment_operation_key
    UNIQUE NULLS NOT DISTINCT (gateway, gateway_payment_id, operation, reversal_id, refund_try)
);
CREATE INDEX ledger_transfers_by_order ON ledger_transfers (order_number);
-- The lines of a merchant's statement, by the day of their booking in Indian time.
CREATE INDEX ledger_transfers_of_merchant
  ON ledger_transfers (merchant_id, environment, indian_day(booked_at), transfer_id)
  WHERE is_merchants_money(debit_account, credit_account);
CREATE INDEX ledger_transfers_failed ON ledger_transfers (order_number)
  WHERE operation = 'refund_failed';
-- A payment is released to the merchant or refunded, once, and never both. Only a refund that has failed
-- makes room for another one: see ledger_tries_follow_each_other.
CREATE UNIQUE INDEX ledger_transfers_one_way_out
  ON ledger_transfers (gateway, gateway_payment_id, refund_try)
  WHERE operation IN ('release', 'refund');

-- The lines of each merchant added up by the day of their booking, so that the sums of a merchant with a million orders
-- are read from a few hundred rows: docs/adr/0014-the-figures-of-a-merchant.md. Recording a line
-- writes nothing here: a Schedule adds the lines up to ledger_seal.sealed_to.
CREATE TABLE ledger_days (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- In Indian time.
  day date NOT NULL,
  debit_account ledger_account NOT NULL,
  credit_account ledger_account NOT NULL,
  amount_paise bigint NOT NULL,
  PRIMARY KEY (merchant_id, environment, day, debit_account, credit_account)
);

-- One row: which lines are in ledger_days.
CREATE TABLE ledger_seal (
  is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
  -- The transfer_id up to which every line is in ledger_days, and no later line.
  sealed_to bigint NOT NULL DEFAULT 0,
  -- Every line that was booked before this time is committed.
  complete_to timestamptz NOT NULL DEFAULT '-infinity',
  -- The transfer_id up to which lines are sealed next, when it was read, and a transaction id that was
  -- assigned later.
  next_to bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  next_xid xid8 NOT NULL DEFAULT '0'
);
INSERT INTO ledger_seal DEFAULT VALUES;

-- The lines that are in no sum of ledger_days yet. OFFSET 0 keeps a condition on the merchant from being
-- planned before the one on transfer_id, which then would read all lines of the merchant.
CREATE VIEW unsealed_ledger_transfers AS
  SELECT * FROM ledger_transfers WHERE transfer_id > (SELECT sealed_to FROM ledger_seal) OFFSET 0;
