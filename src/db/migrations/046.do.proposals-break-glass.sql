-- What an operator does alone on the command line in an emergency: the line of the audit list, the alert and the mails.
-- It is part of the statement of the act.
CREATE FUNCTION break_glass(
  p_user_id text, p_roles text[],
  p_act jsonb,      -- kind, subject, merchant_id, reason, terminal: the login name at the command line
  p_actor jsonb,    -- name, address
  p_mails jsonb     -- of each: mail_id, sealed (base64)
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT may_act(p_user_id, p_roles) THEN
    PERFORM refuse_act('Your role does not allow this');
  END IF;
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  VALUES (p_actor->>'name', p_actor->>'address', 'break-glass', p_act->>'merchant_id', p_act->>'subject',
    p_act - '{subject,merchant_id}'::text[]);
  PERFORM raise_alert('break_glass_used', p_act->>'subject', jsonb_build_object('message',
    format('%s did %s alone on the command line', p_actor->>'name', p_act->>'kind'), 'reason', p_act->>'reason'));
  INSERT INTO mails (mail_id, sealed)
  SELECT mail->>'mail_id', decode(mail->>'sealed', 'base64') FROM jsonb_array_elements(p_mails) AS mail
  -- An act may consist of several parts.
  ON CONFLICT DO NOTHING;
END $$;
