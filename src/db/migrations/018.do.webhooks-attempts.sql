CREATE TYPE attempt_kind AS ENUM ('scheduled', 'manual');

-- With the event's bytes, a row has all of the request as it was sent, also after the secret was
-- replaced. `at` in whole seconds is the signed timestamp.
CREATE TABLE webhook_attempts (
  attempt_id bigint GENERATED ALWAYS AS IDENTITY,
  delivery_id text NOT NULL REFERENCES webhook_deliveries,
  merchant_id text NOT NULL,
  environment environment NOT NULL,
  kind attempt_kind NOT NULL,
  at timestamptz NOT NULL,
  url text NOT NULL,
  signature bytea,
  -- The signature of Standard Webhooks, in addition to the specification's.
  standard_signature bytea,
  api_version text,
  status_code integer,
  duration_ms integer NOT NULL,
  response_body bytea,
  error text,
  is_delivered boolean GENERATED ALWAYS AS (error IS NULL) STORED,
  PRIMARY KEY (delivery_id, attempt_id)
);
CREATE VIEW shared.webhook_attempts AS SELECT delivery_id, merchant_id, environment, is_delivered FROM webhook_attempts;
-- The figures of an endpoint are read from this index alone.
CREATE INDEX webhook_attempts_by_merchant
  ON webhook_attempts (merchant_id, environment, is_delivered, at) INCLUDE (duration_ms);
-- "Retry all that failed since" finds the PENDING deliveries here; successful attempts are not in
-- it.
CREATE INDEX webhook_attempts_failed ON webhook_attempts (at) WHERE error IS NOT NULL;
-- Retention finds answers by their time; an erased one is not in the index.
CREATE INDEX webhook_attempts_with_answer ON webhook_attempts (at) WHERE response_body IS NOT NULL;
