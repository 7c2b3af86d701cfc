-- Attempts that may be guesses, shared by all API processes. A success deletes its row. The subject
-- is a hash, because a password may be typed where the e-mail address belongs.
CREATE TABLE account_attempts (
  purpose text NOT NULL,
  subject bytea NOT NULL,
  address text NOT NULL,
  attempts integer NOT NULL,
  first_at timestamptz NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (purpose, subject, address)
);
CREATE INDEX account_attempts_by_time ON account_attempts (last_at);
-- For attempts that another limit has refused.
CREATE INDEX account_attempts_unused ON account_attempts (last_at) WHERE attempts = 0;

-- Counts an attempt against limits, or refuses it. The attempt counts before its outcome is known:
-- of 100 parallel guesses only the free ones are made. After its free attempts within its window a
-- limit admits one attempt after 15 s, the next after 30 s and so on, up to 15 minutes, until it has
-- not been used for a day.
CREATE FUNCTION admit_attempt(
  p_limits jsonb       -- of each limit: purpose, subject (hex), address, free, windowSeconds
) RETURNS double precision -- seconds to wait; 0 if the attempt is admitted
LANGUAGE plpgsql AS $$
DECLARE
  first_wait CONSTANT interval := '15 seconds';
  longest_wait CONSTANT interval := '15 minutes';
  kept_for CONSTANT interval := '1 day';
  now_at timestamptz;
  wait_seconds double precision;
BEGIN
  -- In one order, so that two of these calls never wait for each other.
  INSERT INTO account_attempts (purpose, subject, address, attempts, first_at, last_at)
  SELECT l.purpose, decode(l.subject, 'hex'), l.address, 0, service_now(), service_now()
  FROM jsonb_to_recordset(p_limits) AS l (purpose text, subject text, address text)
  ORDER BY 1, 2, 3
  ON CONFLICT DO NOTHING;
  PERFORM FROM account_attempts a
  JOIN jsonb_to_recordset(p_limits) AS l (purpose text, subject text, address text)
    ON (a.purpose, a.subject, a.address) = (l.purpose, decode(l.subject, 'hex'), l.address)
  ORDER BY a.purpose, a.subject, a.address FOR UPDATE OF a;

  now_at := service_now();
  UPDATE account_attempts a SET attempts = 0, first_at = now_at
  FROM jsonb_to_recordset(p_limits)
    AS l (purpose text, subject text, address text, free integer, "windowSeconds" integer)
  WHERE (a.purpose, a.subject, a.address) = (l.purpose, decode(l.subject, 'hex'), l.address)
    AND ((a.attempts < l.free AND a.first_at <= now_at - make_interval(secs => l."windowSeconds"))
      OR a.last_at <= now_at - kept_for);
  SELECT extract(epoch FROM max(a.last_at - now_at
    + least(first_wait * 2 ^ least(a.attempts - l.free, 10), longest_wait))) INTO wait_seconds
  FROM account_attempts a
  JOIN jsonb_to_recordset(p_limits) AS l (purpose text, subject text, address text, free integer)
    ON (a.purpose, a.subject, a.address) = (l.purpose, decode(l.subject, 'hex'), l.address)
  WHERE a.attempts >= l.free;
  wait_seconds := greatest(coalesce(wait_seconds, 0), 0);
  IF wait_seconds = 0 THEN
    UPDATE account_attempts a SET attempts = a.attempts + 1, last_at = now_at
    FROM jsonb_to_recordset(p_limits) AS l (purpose text, subject text, address text)
    WHERE (a.purpose, a.subject, a.address) = (l.purpose, decode(l.subject, 'hex'), l.address);
  END IF;

  -- Last, so that this call does not delete what it counts, and waits for no other call.
  DELETE FROM account_attempts WHERE (purpose, subject, address) IN (
    SELECT purpose, subject, address FROM account_attempts
    WHERE last_at <= now_at - kept_for LIMIT 20 FOR UPDATE SKIP LOCKED);
  DELETE FROM account_attempts WHERE (purpose, subject, address) IN (
    SELECT purpose, subject, address FROM account_attempts
    WHERE attempts = 0 AND last_at <= now_at - interval '15 minutes' LIMIT 20 FOR UPDATE SKIP LOCKED);
  RETURN wait_seconds;
END $$;
