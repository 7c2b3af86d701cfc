-- What each merchant has had the service send, such as test events: the times that still count.
CREATE TABLE merchant_sends (
  merchant_id text NOT NULL REFERENCES merchants,
  kind text NOT NULL,
  sent_at timestamptz[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (merchant_id, kind)
);

-- Counts one more, or refuses it: at most p_most in any p_seconds. The lock of the row makes concurrent calls wait,
-- and each reads what the one before has written.
CREATE FUNCTION admit_send(p_merchant_id text, p_kind text, p_most integer, p_seconds integer)
RETURNS double precision -- seconds to wait; 0 if it is admitted
LANGUAGE plpgsql AS $$
DECLARE
  recent timestamptz[];
BEGIN
  INSERT INTO merchant_sends (merchant_id, kind)
  SELECT merchant_id, p_kind FROM merchants WHERE merchant_id = p_merchant_id ON CONFLICT DO NOTHING;
  PERFORM FROM merchant_sends WHERE (merchant_id, kind) = (p_merchant_id, p_kind) FOR UPDATE;
  SELECT coalesce(array_agg(at ORDER BY at), '{}') INTO recent
  FROM merchant_sends, unnest(sent_at) AS at
  WHERE (merchant_id, kind) = (p_merchant_id, p_kind)
    AND at > service_now() - make_interval(secs => p_seconds);
  IF cardinality(recent) >= p_most THEN
    RETURN extract(epoch FROM recent[1] + make_interval(secs => p_seconds) - service_now());
  END IF;
  UPDATE merchant_sends SET sent_at = recent || service_now()
  WHERE (merchant_id, kind) = (p_merchant_id, p_kind);
  RETURN 0;
END $$;
