CREATE TYPE wakeup_cause AS ENUM ('creation', 'command', 'dispute', 'release', 'delivery');

-- Orders that their workflow must look at. Whatever leaves something for a workflow writes a line in
-- the same statement; the sweep wakes the orders whose lines are due. docs/adr/0001 says who removes a
-- line. It is a separate table, because changing a flag in orders would update all of its indexes. Of a
-- delivery, its own row is the line: see the view `wakeups`.
CREATE TABLE order_wakeups (
  order_number text NOT NULL,
  cause wakeup_cause NOT NULL,
  -- The id of the command; empty for a creation and a release.
  cause_id text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT service_now(),
  due_at timestamptz NOT NULL,
  PRIMARY KEY (order_number, cause, cause_id)
);
CREATE INDEX order_wakeups_due ON order_wakeups (due_at);

-- All that the sweep wakes orders for. The row of a delivery is its line: changing it costs nothing beside
-- what an attempt changes there. A workflow that sends a delivery can be lost after its order has ended, and nothing
-- compares such an order with Temporal: a delivery that has been due for an hour is a line, too.
CREATE VIEW wakeups AS
  SELECT order_number, cause, cause_id, written_at, due_at FROM order_wakeups
  UNION ALL
  SELECT e.order_number, 'delivery', d.delivery_id, e.at, d.wake_at
  FROM shared.webhook_deliveries d JOIN shared.order_events e USING (event_id) WHERE d.wake_at IS NOT NULL
  UNION ALL
  SELECT e.order_number, 'delivery', d.delivery_id, d.next_attempt_at, d.next_attempt_at + interval '1 hour'
  FROM shared.webhook_deliveries d JOIN shared.order_events e USING (event_id)
  WHERE d.wake_at IS NULL AND d.state = 'PENDING' AND NOT d.is_erased
    AND d.next_attempt_at < (SELECT service_now()) - interval '1 hour';
