-- What needs an operator: one row for each kind and subject as long as it is not cleared.
CREATE TABLE alerts (
  alert_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  -- What it is about: an order number, a gateway payment id, …
  subject text NOT NULL,
  -- How often it was raised, and when first and last.
  count integer NOT NULL DEFAULT 1,
  first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- What was known the last time.
  details jsonb NOT NULL,
  cleared_at timestamptz,
  -- The operator, or the part of the service that found it mended.
  cleared_by text
);
CREATE UNIQUE INDEX alerts_open ON alerts (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alerts_by_subject ON alerts (subject);
