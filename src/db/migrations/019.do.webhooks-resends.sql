-- Deliveries that are sent again together, in the order of the list, by the workflow
-- `resend-<resend_id>`.
CREATE TABLE webhook_resends (
  -- A ULID: the newest comes last.
  resend_id text PRIMARY KEY,
  merchant_id text NOT NULL REFERENCES merchants,
  environment environment NOT NULL,
  -- Empty once it is finished.
  delivery_ids text[] NOT NULL,
  total_count integer NOT NULL,
  -- Leaves out what was delivered meanwhile. A delivery that was chosen by itself is sent in any state.
  only_undelivered boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- How many of the list are done, and the results of their attempts.
  done_count integer NOT NULL DEFAULT 0,
  delivered_count integer NOT NULL DEFAULT 0,
  refused_count integer NOT NULL DEFAULT 0,
  finished_at timestamptz,
  -- Why it has ended before the end of the list.
  stop_cause text CHECK (stop_cause IN ('no_url', 'endpoint_refuses'))
);
CREATE INDEX webhook_resends_by_merchant ON webhook_resends (merchant_id, environment, resend_id);
-- One at a time, so that no delivery is sent twice because a form was.
CREATE UNIQUE INDEX webhook_resends_open ON webhook_resends (merchant_id, environment)
  WHERE finished_at IS NULL;
