-- Mails to merchants and operators. A row keeps the mail only until it is sent or has failed.
CREATE TABLE mails (
  mail_id text PRIMARY KEY,
  -- Recipient, subject and text, sealed for this mail id: see src/secret-box.ts.
  sealed bytea,
  created_at timestamptz NOT NULL DEFAULT service_now(),
  sent_at timestamptz,
  failed_at timestamptz,
  -- Why it failed, without the recipient's address.
  failure text,
  -- The sweep starts a workflow some time after this. Each attempt moves it, so that the sweep finds
  -- only mails without a workflow.
  sweep_at timestamptz NOT NULL DEFAULT service_now(),
  CHECK ((sealed IS NULL) = (num_nonnulls(sent_at, failed_at) = 1))
);
-- The sweep reads this index, which is normally empty.
CREATE INDEX mails_waiting ON mails (sweep_at) WHERE sealed IS NOT NULL;
