-- What the operators' pages need besides the tables of the service.

-- Each proof of the whole ledger, made every hour by a Schedule and by `admin ledger verify`. Proofs
-- are kept for 30 days.
CREATE TABLE ledger_proofs (
  proof_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- When the statement that read the ledger had ended, and how long it took.
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  duration_ms integer NOT NULL,
  ok boolean NOT NULL,
  -- The balance of each account with what it should be, the sums over all accounts, and the number
  -- of lines, orders and captures that were checked.
  figures jsonb NOT NULL,
  fault_count integer NOT NULL,
  -- The first 100 of them.
  faults jsonb NOT NULL
);

-- Orders that are closing, releasing or refunding, those that have done so for longest first.
CREATE INDEX orders_pending ON orders (updated_at, order_number)
  WHERE pending_operation IS NOT NULL;
-- Orders whose dispute window runs: the release of one that is over may not have begun.
CREATE INDEX orders_by_completion ON orders (completes_at, order_number)
  WHERE completes_at IS NOT NULL;
-- Surplus captures whose refund has not been made.
CREATE INDEX surplus_refunds_pending ON surplus_refunds (started_at) WHERE processed_at IS NULL;
-- Earlier disputes between a buyer and a merchant: a small part of all orders.
CREATE INDEX orders_disputed_by_email
  ON orders (merchant_id, environment, lower(buyer_email), created_at) WHERE dispute_count > 0;
CREATE INDEX orders_disputed_by_phone
  ON orders (merchant_id, environment, buyer_phone, created_at) WHERE dispute_count > 0;
-- Open alerts, the latest first.
CREATE INDEX alerts_open_by_time ON alerts (last_at, alert_id) WHERE cleared_at IS NULL;
