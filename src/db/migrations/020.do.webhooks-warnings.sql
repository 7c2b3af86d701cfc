-- The latest mail that has warned a merchant that webhooks do not arrive.
CREATE TABLE webhook_warnings (
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  warned_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- When its mail was written; NULL while that is still to be done.
  mailed_at timestamptz,
  PRIMARY KEY (merchant_id, environment)
);
CREATE INDEX webhook_warnings_open ON webhook_warnings (merchant_id) WHERE mailed_at IS NULL;
