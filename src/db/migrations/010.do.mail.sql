-- Mails to merchants, operators and buyers. A row keeps the mail only until it is sent or has failed.
CREATE TABLE mails (
  mail_id text PRIMARY KEY,
  -- Recipient, subject and text, sealed for this mail id: see src/secret-box.ts.
  sealed bytea,
  -- Set for a mail about an order, which record_step writes with the step: its order, its kind and its reader.
  order_number text,
  kind text,
  created_at timestamptz NOT NULL DEFAULT service_now(),
  sent_at timestamptz,
  failed_at timestamptz,
  -- Why it failed, without the recipient's address.
  failure text,
  -- The sweep starts a workflow some time after this. Each attempt moves it, so that the sweep finds
  -- only mails without a workflow.
  sweep_at timestamptz NOT NULL DEFAULT service_now(),
  CHECK ((sealed IS NULL) = (num_nonnulls(sent_at, failed_at) = 1)),
  CHECK ((order_number IS NULL) = (kind IS NULL))
);
CREATE VIEW shared.mails AS SELECT mail_id FROM mails;
-- The sweep reads this index, which is normally empty.
CREATE INDEX mails_waiting ON mails (sweep_at) WHERE sealed IS NOT NULL;
CREATE INDEX mails_by_order ON mails (order_number) WHERE order_number IS NOT NULL;
-- Retention reads this index.
CREATE INDEX mails_finished ON mails (created_at) WHERE sealed IS NULL;

-- Writes the mails about an order's step: see src/orders/mails/. The process that calls it sends them at once, so the
-- sweep waits for a minute. A step that is written again after a restore has the mails with the ids from before.
-- Returns id and time of each mail that it has written.
CREATE FUNCTION write_order_mails(p_order_number text, p_mails jsonb) RETURNS jsonb LANGUAGE sql AS $$
  WITH written AS (
    INSERT INTO mails (mail_id, order_number, kind, sealed, sweep_at)
    SELECT m.mail_id, p_order_number, m.kind, decode(m.sealed, 'base64'), service_now() + interval '1 minute'
    FROM jsonb_to_recordset(p_mails) AS m (mail_id text, kind text, sealed text)
    ON CONFLICT (mail_id) DO NOTHING
    RETURNING mail_id, created_at
  )
  SELECT coalesce(jsonb_agg(jsonb_build_object('mailId', mail_id, 'createdAt', created_at)), '[]') FROM written
$$;
