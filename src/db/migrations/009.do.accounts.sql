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

-- Links that set a password. The row is deleted when its link is used.
CREATE TYPE link_purpose AS ENUM ('reset_password', 'invitation');
CREATE TABLE one_time_links (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  user_id text NOT NULL REFERENCES users,
  purpose link_purpose NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX one_time_links_by_user ON one_time_links (user_id);

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
