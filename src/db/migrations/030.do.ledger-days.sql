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
