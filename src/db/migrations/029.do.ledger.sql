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
      'recovered', 'covered', 'payment_fee', 'transfer_fee')),
  order_number text NOT NULL REFERENCES orders,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  debit_account ledger_account NOT NULL,
  credit_account ledger_account NOT NULL CHECK (credit_account <> debit_account),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  -- The time of the step, or when the gateway had moved the money.
  at timestamptz NOT NULL DEFAULT service_now(),
  -- When the line was inserted: it belongs to this day, also if its step is recorded late.
  booked_at timestamptz NOT NULL DEFAULT service_now(),
  -- The gateway's id of the transfer that was released or of the refund; null for other lines, and where the service
  -- does not know it.
  movement_id text CHECK (movement_id IS NULL OR operation IN ('release', 'refund', 'refund_failed')),
  -- Set only for a reversal, and for what the platform pays of it: at once, instead of the payment, or not any more.
  reversal_id text,
  CHECK ((operation IN ('reversal', 'loss', 'recovered', 'covered')) = (reversal_id IS NOT NULL)),
  -- The number of refunds of this payment that have failed before, after they were booked.
  refund_try integer NOT NULL DEFAULT 0
    CHECK (refund_try = 0 OR operation IN ('refund', 'refund_failed', 'covered', 'recovered')),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments,
  FOREIGN KEY (gateway, reversal_id) REFERENCES gateway_reversals,
  CONSTRAINT ledger_transfers_payment_operation_key
    UNIQUE NULLS NOT DISTINCT (gateway, gateway_payment_id, operation, reversal_id, refund_try)
);
CREATE VIEW shared.ledger_transfers AS SELECT transfer_id, gateway, gateway_payment_id, operation, order_number,
  merchant_id, environment, debit_account, credit_account, amount_paise, at, booked_at, movement_id, reversal_id,
  refund_try FROM ledger_transfers;
CREATE INDEX ledger_transfers_by_order ON ledger_transfers (order_number);
CREATE UNIQUE INDEX ledger_transfers_of_reversal ON ledger_transfers (gateway, reversal_id, operation, refund_try)
  WHERE reversal_id IS NOT NULL;
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
-- A refund is booked once, also by a process that was suspended until it had failed.
CREATE UNIQUE INDEX ledger_transfers_of_refund ON ledger_transfers (gateway, gateway_payment_id, movement_id)
  WHERE operation = 'refund';

CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A refund can fail only after it was booked, and be booked again only after it has failed.
CREATE FUNCTION refuse_try_out_of_order() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM ledger_transfers t
      WHERE t.gateway = NEW.gateway AND t.gateway_payment_id = NEW.gateway_payment_id
        AND (t.operation, t.refund_try) IN (
          SELECT 'refund', NEW.refund_try WHERE NEW.operation = 'refund_failed'
          UNION ALL SELECT 'refund_failed', NEW.refund_try - 1 WHERE NEW.operation = 'refund')) THEN
    RAISE EXCEPTION '% of try % of payment % does not follow its predecessor',
      NEW.operation, NEW.refund_try, NEW.gateway_payment_id;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER ledger_tries_follow_each_other BEFORE INSERT ON ledger_transfers
  FOR EACH ROW WHEN (NEW.operation = 'refund_failed'
    OR (NEW.refund_try > 0 AND NEW.operation NOT IN ('covered', 'recovered')))
  EXECUTE FUNCTION refuse_try_out_of_order();

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

-- The latest line by which a payment's money left for the merchant or the buyer, or came back: release, refund or
-- refund_failed; null if there is none. VOLATILE, like balance_of.
CREATE FUNCTION last_movement_of(p_gateway text, p_gateway_payment_id text) RETURNS text
LANGUAGE sql VOLATILE AS $$
  SELECT operation FROM ledger_transfers
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
    AND operation IN ('release', 'refund', 'refund_failed')
  ORDER BY transfer_id DESC LIMIT 1
$$;

-- The number of the next refund of a payment: how many have failed after they were booked.
CREATE FUNCTION refund_try_of(p_gateway text, p_gateway_payment_id text) RETURNS integer
LANGUAGE sql STABLE AS $$
  SELECT count(*)::integer FROM ledger_transfers
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
    AND operation = 'refund_failed'
$$;

-- True if the ledger has a line of the payment, other than those of fees: money of it was given to an
-- account.
CREATE FUNCTION is_booked(p_gateway text, p_gateway_payment_id text) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM ledger_transfers
    WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
      AND operation = 'capture')
$$;

-- Books a line of an order's payment; nothing if the amount is 0. No other statement inserts a line. A line that the
-- ledger has already is an error. The caller has locked the order.
CREATE FUNCTION book_line(
  o shared.orders, p_gateway_payment_id text, p_operation text,
  p_debit ledger_account, p_credit ledger_account, p_amount_paise bigint,
  p_at timestamptz DEFAULT service_now(),
  p_movement_id text DEFAULT NULL,    -- of a release or refund
  p_refund_try integer DEFAULT 0,     -- of a refund, and of what the platform pays because of it
  p_reversal_id text DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF p_amount_paise = 0 THEN
    RETURN;
  END IF;
  INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number, merchant_id, environment,
    debit_account, credit_account, amount_paise, at, movement_id, refund_try, reversal_id)
  VALUES (o.gateway, p_gateway_payment_id, p_operation, o.order_number, o.merchant_id, o.environment,
    p_debit, p_credit, p_amount_paise, p_at, p_movement_id, p_refund_try, p_reversal_id);
END $$;
