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
CREATE VIEW shared.order_events AS SELECT event_id, order_number, sequence, step_number, type, at FROM order_events;

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
  settled_at timestamptz,
  -- The event of an erased order has no body: it cannot be sent again.
  is_erased boolean NOT NULL DEFAULT false
);
CREATE VIEW shared.webhook_deliveries AS SELECT delivery_id, event_id, state, next_attempt_at, wake_at,
  is_erased FROM webhook_deliveries;
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
