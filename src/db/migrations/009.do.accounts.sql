-- Who may sign in to the dashboard: a merchant's user or an operator.
CREATE TYPE operator_role AS ENUM ('support', 'finance', 'admin');

CREATE TABLE users (
  user_id text PRIMARY KEY,
  -- In lower case: addresses that differ only in case are one account.
  email text NOT NULL UNIQUE CHECK (email = lower(email)),
  -- One user for each merchant.
  merchant_id text UNIQUE REFERENCES merchants,
  operator_role operator_role,
  -- Argon2id with its parameters and salt; NULL until an invitation is accepted.
  password_hash text,
  -- The secret of the two-factor codes, sealed; see src/secret-box.ts. It counts once a code has
  -- confirmed it.
  totp_secret_sealed text,
  totp_confirmed_at timestamptz,
  -- The 30-second step of the last accepted code: a code is accepted once.
  totp_last_step bigint,
  created_at timestamptz NOT NULL DEFAULT service_now(),
  -- An operator who may no longer sign in.
  disabled_at timestamptz,
  -- The kinds of mails about orders and webhooks that the user has switched off; not those about money.
  muted_mails text[] NOT NULL DEFAULT '{}',
  CHECK (num_nonnulls(merchant_id, operator_role) = 1),
  CHECK (totp_confirmed_at IS NULL OR totp_secret_sealed IS NOT NULL)
);

-- Sign-ups whose e-mail address is not confirmed yet. The confirmation makes the merchant and its
-- user from the row. Several may wait for one address: each link confirms what it was sent for.
CREATE TABLE sign_ups (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  email text NOT NULL CHECK (email = lower(email)),
  business_name text NOT NULL,
  password_hash text NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX sign_ups_by_email ON sign_ups (email);
CREATE INDEX sign_ups_by_expiry ON sign_ups (expires_at);

-- Links that set a password. The row is deleted when its link is used. A reset that was requested for
-- an address without an account has no user: the work is the same, and its link is never sent.
CREATE TYPE link_purpose AS ENUM ('reset_password', 'invitation');
CREATE TABLE one_time_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  user_id text REFERENCES users,
  purpose link_purpose NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX one_time_links_by_user ON one_time_links (user_id);
CREATE INDEX one_time_links_by_expiry ON one_time_links (expires_at);

-- The sessions of the dashboard. The cookie has the token, of which only the hash is stored. A row
-- is deleted when its session ends.
CREATE TABLE dashboard_sessions (
  session_id text PRIMARY KEY,
  token_hash bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  user_id text NOT NULL REFERENCES users,
  created_at timestamptz NOT NULL DEFAULT service_now(),
  -- To the minute.
  last_seen_at timestamptz NOT NULL DEFAULT service_now(),
  expires_at timestamptz NOT NULL,
  address text NOT NULL,
  user_agent text NOT NULL
);
CREATE INDEX dashboard_sessions_by_user ON dashboard_sessions (user_id);

-- Logins whose password was right and whose two-factor code is awaited.
CREATE TABLE pending_logins (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  user_id text NOT NULL REFERENCES users,
  expires_at timestamptz NOT NULL
);
CREATE INDEX pending_logins_by_user ON pending_logins (user_id);

-- Codes for a user without the device; each works once.
CREATE TABLE recovery_codes (
  user_id text NOT NULL REFERENCES users,
  code_hash bytea NOT NULL CHECK (octet_length(code_hash) = 32),
  used_at timestamptz,
  PRIMARY KEY (user_id, code_hash)
);

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
