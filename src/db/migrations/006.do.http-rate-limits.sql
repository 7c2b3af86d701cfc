-- When each client was last admitted, shared by all API processes (RATE_LIMIT_STORE=postgres).
-- Unlogged: a crash of the database loses one second of admissions. The fill factor leaves room on
-- a page for the next version of a row, which each request updates.
CREATE UNLOGGED TABLE rate_limits (
  client text PRIMARY KEY,
  admitted_at timestamptz[] NOT NULL
) WITH (fillfactor = 50);
