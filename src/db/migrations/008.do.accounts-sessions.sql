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
  -- When its user last gave the password and, if set up, a second factor: some acts need both again.
  confirmed_at timestamptz,
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

-- The browsers with which a user has logged in: a log-in with another one is told to the user. The cookie has the
-- token, of which only the hash is stored.
CREATE TABLE known_devices (
  user_id text NOT NULL REFERENCES users,
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  last_used_at timestamptz NOT NULL DEFAULT service_now(),
  PRIMARY KEY (user_id, token_hash)
);
CREATE INDEX known_devices_by_time ON known_devices (last_used_at);

-- What was typed into a form of the dashboard that was not carried out, because its user had to log in or to confirm
-- first: it is shown again in its form. The content is encrypted, and deleted within hours. `holder` is the user, or
-- the browser of someone who is not logged in.
CREATE TABLE kept_forms (
  holder text NOT NULL,
  path text NOT NULL,
  content_sealed bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (holder, path)
);
CREATE INDEX kept_forms_by_time ON kept_forms (expires_at);
