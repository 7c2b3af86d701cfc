-- A webhook event, with the exact bytes that every attempt sends.
CREATE TABLE order_events (
  event_id text PRIMARY KEY,
  order_number text NOT NULL REFERENCES orders,
  sequence integer NOT NULL,
  step_number integer NOT NULL,
  type text NOT NULL,
  at timestamptz NOT NULL,
  body text NOT NULL,
  UNIQUE (order_number, sequence)
);

CREATE TYPE delivery_state AS ENUM ('PENDING', 'DELIVERED', 'FAILED');

CREATE TABLE webhook_deliveries (
  delivery_id text PRIMARY KEY,
  event_id text NOT NULL UNIQUE REFERENCES order_events,
  merchant_id text NOT NULL,
  environment environment NOT NULL,
  -- The event's type, so that lists by type need not read the events.
  event_type text NOT NULL,
  state delivery_state NOT NULL DEFAULT 'PENDING',
  next_attempt_at timestamptz,
  -- The scheduled attempts that have failed.
  failed_attempts smallint NOT NULL DEFAULT 0,
  -- How often since the last attempt its endpoint was full; each time it waits longer.
  postponements integer NOT NULL DEFAULT 0,
  -- A running attempt: a second one is refused until it ends or this time has passed.
  attempt_token text,
  attempt_until timestamptz,
  -- When the order is woken to send it; NULL once it has ended or the order's workflow sends it.
  wake_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  settled_at timestamptz
);
-- A list reads the newest of each type and state; a delivery's id is a ULID of its event's time.
CREATE INDEX webhook_deliveries_by_merchant
  ON webhook_deliveries (merchant_id, environment, event_type, state, delivery_id);
-- The delivery that has been due for longest. A delivery that has settled is not in it.
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at)
  WHERE state = 'PENDING';
CREATE INDEX webhook_deliveries_to_wake ON webhook_deliveries (wake_at) WHERE wake_at IS NOT NULL;
-- Which merchants must be warned; their pages count those with one attempt left.
CREATE INDEX webhook_deliveries_failing
  ON webhook_deliveries (merchant_id, environment, failed_attempts, next_attempt_at)
  WHERE state = 'PENDING' AND failed_attempts >= 2;
-- "Retry all that failed since" reads this index.
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (settled_at) WHERE state = 'FAILED';

-- All that the sweep wakes orders for. The row of a delivery is its line: changing it costs nothing beside
-- what an attempt changes there.
CREATE VIEW wakeups AS
  SELECT order_number, cause, cause_id, written_at, due_at FROM order_wakeups
  UNION ALL
  SELECT e.order_number, 'delivery', d.delivery_id, e.at, d.wake_at
  FROM webhook_deliveries d JOIN order_events e USING (event_id) WHERE d.wake_at IS NOT NULL;

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
-- The figures of an endpoint are read from this index alone.
CREATE INDEX webhook_attempts_by_merchant
  ON webhook_attempts (merchant_id, environment, is_delivered, at) INCLUDE (duration_ms);
-- "Retry all that failed since" finds the PENDING deliveries here; successful attempts are not in
-- it.
CREATE INDEX webhook_attempts_failed ON webhook_attempts (at) WHERE error IS NOT NULL;

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
