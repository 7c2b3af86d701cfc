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
CREATE VIEW shared.users AS SELECT user_id, email, merchant_id, operator_role, totp_confirmed_at, disabled_at,
  muted_mails FROM users;

-- Sign-ups whose e-mail address is not confirmed yet. The confirmation makes the merchant and its
-- user from the row. Several may wait for one address: each link confirms what it was sent for.
CREATE TABLE sign_ups (
  token_hash bytea PRIMARY KEY CHECK (octet_length(token_hash) = 32),
  email text NOT NULL CHECK (email = lower(email)),
  business_name text NOT NULL,
  password_hash text NOT NULL,
  expires_at timestamptz NOT NULL
);
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

-- Codes for a user without the device; each works once.
CREATE TABLE recovery_codes (
  user_id text NOT NULL REFERENCES users,
  code_hash bytea NOT NULL CHECK (octet_length(code_hash) = 32),
  used_at timestamptz,
  PRIMARY KEY (user_id, code_hash)
);
