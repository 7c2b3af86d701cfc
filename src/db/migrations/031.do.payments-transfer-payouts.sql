-- The payout to the merchant's bank that settled a released transfer, once the gateway reports it, days after the
-- release. It is a line of the statement of the day on which the service learned it, and no line of the ledger,
-- because no balance changes (docs/adr/0021).
CREATE TABLE transfer_payouts (
  -- The line of the release. Its transfer has one payout.
  release_id bigint PRIMARY KEY REFERENCES ledger_transfers,
  -- From the sequence of the ledger's lines, so that the lines of a statement have one order.
  line_id bigint NOT NULL DEFAULT nextval('ledger_transfers_transfer_id_seq'),
  order_number text NOT NULL REFERENCES orders,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- The gateway's id of the payout, and the bank's reference.
  payout_id text NOT NULL,
  utr text NOT NULL,
  booked_at timestamptz NOT NULL DEFAULT service_now()
);
CREATE VIEW shared.transfer_payouts AS SELECT release_id, line_id, order_number, merchant_id, environment, payout_id,
  utr, booked_at FROM transfer_payouts;
CREATE INDEX transfer_payouts_of_merchant
  ON transfer_payouts (merchant_id, environment, indian_day(booked_at), line_id);
CREATE TRIGGER payouts_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON transfer_payouts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
