-- The browsers with which a user has logged in: a log-in with another one is told to the user. The cookie has the
-- token, of which only the hash is stored.
CREATE TABLE known_devices (
  user_id text NOT NULL REFERENCES users,
  token_hash bytea NOT NULL CHECK (octet_length(token_hash) = 32),
  last_used_at timestamptz NOT NULL DEFAULT service_now(),
  PRIMARY KEY (user_id, token_hash)
);
CREATE INDEX known_devices_by_time ON known_devices (last_used_at);
