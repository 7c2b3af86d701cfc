-- The signature of Standard Webhooks, beside that of the specification; NULL for attempts without one.
ALTER TABLE webhook_attempts ADD COLUMN standard_signature bytea;
