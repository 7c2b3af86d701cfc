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
