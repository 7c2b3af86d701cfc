-- When the user of a session last gave the password and, if set up, a second factor: some acts need both again.
ALTER TABLE dashboard_sessions ADD COLUMN confirmed_at timestamptz;
