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

-- Writes the webhook event of an order's step, and its delivery. The caller has inserted or locked the order's row.
CREATE FUNCTION write_event(
  p_order_number text, p_merchant_id text, p_environment environment, p_step_number integer, p_at timestamptz,
  p_event jsonb  -- event_id, sequence, type, body; delivery_id and wake_after_ms if it is sent, and attempt_token with
                 -- lease_ms if the caller makes the first attempt
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
  VALUES (p_event->>'event_id', p_order_number, (p_event->>'sequence')::integer, p_step_number,
    p_event->>'type', p_at, p_event->>'body');
  IF p_event->>'delivery_id' IS NOT NULL THEN
    INSERT INTO webhook_deliveries
      (delivery_id, event_id, merchant_id, environment, event_type, next_attempt_at, wake_at,
        attempt_token, attempt_until)
    VALUES (p_event->>'delivery_id', p_event->>'event_id', p_merchant_id, p_environment,
      p_event->>'type', p_at,
      service_now() + (p_event->>'wake_after_ms')::bigint * interval '1 millisecond',
      p_event->>'attempt_token',
      service_now() + (p_event->>'lease_ms')::bigint * interval '1 millisecond');
  END IF;
END $$;
