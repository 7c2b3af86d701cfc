-- What was typed into a form of the dashboard that was not carried out, because its user had to log in or to confirm
-- first: it is shown again in its form. The content is encrypted, and
-- deleted within hours. `holder` is the user, or the browser of someone who is not logged in.
CREATE TABLE kept_forms (
  holder text NOT NULL,
  path text NOT NULL,
  content_sealed bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (holder, path)
);
CREATE INDEX kept_forms_by_time ON kept_forms (expires_at);
