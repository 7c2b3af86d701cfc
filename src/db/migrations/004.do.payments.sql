-- Our book of what the gateway captured. A row is written once, when the gateway says so.
CREATE TABLE payments (
  gateway_payment_id text PRIMARY KEY,
  environment environment NOT NULL,
  order_number text REFERENCES orders,
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  payer_name text NOT NULL DEFAULT '',
  captured_at timestamptz NOT NULL DEFAULT service_now()
);
CREATE INDEX payments_by_order ON payments (order_number);

-- Double entry by construction: a line takes from one account what it gives to another, so the sum
-- over all accounts is zero at all times. Append-only.
CREATE TYPE ledger_account AS ENUM (
  'gateway_clearing', 'merchant_held', 'merchant_available', 'refunds'
);
CREATE TABLE ledger_transfers (
  transfer_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway_payment_id text NOT NULL REFERENCES payments,
  operation text NOT NULL CHECK (operation IN ('capture', 'release', 'refund')),
  order_number text NOT NULL,
  merchant_id text NOT NULL,
  environment environment NOT NULL,
  debit_account ledger_account NOT NULL,
  credit_account ledger_account NOT NULL CHECK (credit_account <> debit_account),
  amount_paise bigint NOT NULL CHECK (amount_paise > 0),
  at timestamptz NOT NULL,
  UNIQUE (gateway_payment_id, operation)
);
CREATE INDEX ledger_transfers_by_order ON ledger_transfers (order_number);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME;
END $$;
CREATE TRIGGER ledger_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_transfers
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
