-- When each client was last admitted, shared by all API processes (RATE_LIMIT_STORE=postgres).
-- Unlogged: a crash of the database forgets one second of admissions, and nothing else.
-- The fill factor leaves room on a page for the next version of a row, which changes at each request.
CREATE UNLOGGED TABLE rate_limits (
  client text PRIMARY KEY,
  admitted_at timestamptz[] NOT NULL
) WITH (fillfactor = 50);
