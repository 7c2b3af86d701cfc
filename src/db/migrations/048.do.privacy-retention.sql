-- Erases the answers to webhooks that are older than a time, at most p_most of them. Returns how many.
CREATE FUNCTION erase_old_answers(p_before timestamptz, p_most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  erased integer;
  -- No index is searched for the result of a volatile function.
  old_before CONSTANT timestamptz := least(p_before, service_now() - interval '1 day');
BEGIN
  UPDATE webhook_attempts a SET response_body = NULL
  FROM (SELECT delivery_id, attempt_id FROM webhook_attempts
    WHERE response_body IS NOT NULL AND at < old_before
    ORDER BY at LIMIT p_most) AS old
  WHERE a.delivery_id = old.delivery_id AND a.attempt_id = old.attempt_id;
  GET DIAGNOSTICS erased = ROW_COUNT;
  RETURN erased;
END $$;
REVOKE EXECUTE ON FUNCTION erase_old_answers(timestamptz, integer) FROM PUBLIC;
