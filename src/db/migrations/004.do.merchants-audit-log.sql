-- Changes and their actors. Rows are never deleted, and contain no secret.
CREATE TABLE audit_log (
  audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL,
  -- The client's IP address; null on the command line.
  address text,
  action text NOT NULL,
  merchant_id text,
  subject text,
  details jsonb NOT NULL DEFAULT '{}'
);
-- Every filter of a list has an index in the order of the list.
CREATE INDEX audit_log_by_merchant ON audit_log (merchant_id, at, audit_id);
CREATE INDEX audit_log_by_time ON audit_log (at, audit_id);
CREATE INDEX audit_log_by_subject ON audit_log (subject, at, audit_id);
CREATE INDEX audit_log_by_actor ON audit_log (actor, at, audit_id);
CREATE INDEX audit_log_by_action ON audit_log (action, at, audit_id);
