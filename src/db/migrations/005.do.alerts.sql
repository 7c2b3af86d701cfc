-- What needs an operator: one open row for each kind and subject.
CREATE TABLE alerts (
  alert_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind text NOT NULL,
  -- An order number, a gateway and its payment id, …
  subject text NOT NULL,
  -- How often it was raised, and when first and last.
  count integer NOT NULL DEFAULT 1,
  first_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The details when it was last raised.
  details jsonb NOT NULL,
  cleared_at timestamptz,
  -- The operator, or the part of the service that found the cause fixed.
  cleared_by text,
  -- Why it was cleared, by the operator or by the service.
  cleared_reason text
);
CREATE VIEW shared.alerts AS SELECT alert_id, kind, subject, cleared_at FROM alerts;
CREATE UNIQUE INDEX alerts_open ON alerts (kind, subject) WHERE cleared_at IS NULL;
CREATE INDEX alerts_by_subject ON alerts (subject);
-- Open alerts, the latest first.
CREATE INDEX alerts_open_by_time ON alerts (last_at, alert_id) WHERE cleared_at IS NULL;
-- All alerts, the latest first.
CREATE INDEX alerts_by_time ON alerts (last_at, alert_id);

-- Raises an alert, or counts that the open one was raised again. A writer whose condition is seen only once calls it
-- in its own transaction, so that no process dies between the two.
CREATE FUNCTION raise_alert(p_kind text, p_subject text, p_details jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO alerts (kind, subject, details) VALUES (p_kind, p_subject, p_details)
  ON CONFLICT (kind, subject) WHERE cleared_at IS NULL DO UPDATE
  SET count = alerts.count + 1, last_at = clock_timestamp(), details = excluded.details
$$;
