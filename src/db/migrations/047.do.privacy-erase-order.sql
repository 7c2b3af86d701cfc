-- Erasure of a buyer's data. test/privacy/columns.ts says of every column of the schema whether it has a buyer's data.
--
-- The functions that change append-only tables run with the privileges of the tables' owner, because
-- the login of the service has none for it. They change what is named here, and nothing else.

-- An Idempotency-Key may be a buyer's address. An erased order keeps a hash of it, by which a repeat
-- is recognised. No client can send such a key, because a key has no space. The scope is the merchant id,
-- or the order number for keys of one order.
CREATE FUNCTION erased_key(scope text, key text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'erased ' || encode(sha256(convert_to(scope || ' ' || key, 'UTF8')), 'hex')
$$;

-- The ids by which callbacks, alerts and sessions refer to an order.
CREATE FUNCTION ids_of_order(o orders) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT array_remove(array_agg(id), NULL) FROM (
    SELECT o.order_number
    UNION SELECT session_id FROM payment_sessions WHERE order_number = o.order_number
    UNION SELECT gateway_session_id FROM payment_sessions WHERE order_number = o.order_number
    UNION SELECT gateway_payment_id FROM payments WHERE order_number = o.order_number
    UNION SELECT gateway_payment_id FROM gateway_callbacks
      WHERE order_number = o.order_number AND is_unconfirmed
    -- The command id of a failed payment is 'failed:' and its payment id.
    UNION SELECT substr(command_id, 8) FROM order_commands
      WHERE order_number = o.order_number AND command_id LIKE 'failed:%'
    UNION SELECT reversal_id FROM gateway_reversals WHERE order_number = o.order_number
  ) AS named (id)
$$;

-- The subjects of alerts about an order.
CREATE FUNCTION alert_subjects_of(o orders) RETURNS text[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(subject) FROM (
    SELECT unnest(ids_of_order(o))
    UNION SELECT gateway_subject(o.gateway, unnest(ids_of_order(o)))
    UNION SELECT delivery_id FROM order_events JOIN webhook_deliveries USING (event_id)
      WHERE order_number = o.order_number
  ) AS named (subject)
$$;

-- Why the buyer's data of an order is still needed; empty if it is not. Each is a kind with what it is
-- about: src/privacy/erase-order.ts has the sentences.
CREATE FUNCTION reasons_to_keep(o orders) RETURNS TABLE (kind text, subject text)
LANGUAGE sql STABLE AS $$
  SELECT 'not_final', o.status::text WHERE NOT is_final(o.status)
  UNION ALL SELECT 'pending_operation', o.pending_operation->>'kind'
    WHERE o.pending_operation IS NOT NULL
  UNION ALL SELECT 'not_woken', min(w.cause)::text FROM order_wakeups w
    WHERE w.order_number = o.order_number HAVING count(*) > 0
  UNION ALL SELECT 'delivery_pending', d.delivery_id
    FROM order_events e JOIN webhook_deliveries d USING (event_id)
    WHERE e.order_number = o.order_number AND d.state = 'PENDING'
  -- An attempt that hung past its lease may still be recorded, with the answer.
  UNION ALL SELECT 'attempt_under_way', d.delivery_id
    FROM order_events e JOIN webhook_deliveries d USING (event_id)
    WHERE e.order_number = o.order_number AND d.state <> 'PENDING' AND d.attempt_token IS NOT NULL
      AND d.attempt_until > service_now() - interval '10 minutes'
  UNION ALL SELECT 'session_opening', s.session_id FROM payment_sessions s
    WHERE s.order_number = o.order_number AND s.state = 'OPENING'
      AND s.created_at > service_now() - interval '10 minutes'
  UNION ALL SELECT 'capture_unapplied', u.gateway_payment_id FROM unapplied_captures u
    WHERE u.order_number = o.order_number AND u.is_whole
  UNION ALL SELECT 'capture_unapplied', c.gateway_payment_id FROM unconfirmed_callbacks c
    WHERE c.order_number = o.order_number
  UNION ALL SELECT 'refund_pending', s.gateway_payment_id FROM surplus_refunds s
    WHERE s.order_number = o.order_number AND s.processed_at IS NULL
  UNION ALL SELECT 'refund_pending', o.gateway_payment_id WHERE has_failed_refund(o.status, o.refund_processed_at)
  UNION ALL SELECT 'refund_pending', c.gateway_payment_id
    FROM gateway_callbacks c JOIN payments p USING (gateway, gateway_payment_id)
    WHERE p.order_number = o.order_number AND c.is_unconfirmed AND c.reports_refund
  UNION ALL SELECT 'reversal_open', r.reversal_id FROM gateway_reversals r
    WHERE r.order_number = o.order_number AND r.state IN ('pending', 'open')
  UNION ALL SELECT 'alert_open', a.kind FROM alerts a
    WHERE a.cleared_at IS NULL AND a.subject = ANY (alert_subjects_of(o))
$$;

-- Erases the buyer's data of one order, in every table, or refuses it while the data is needed. Ids,
-- amounts, times, the ledger and the audit log stay. A repeat erases what was written in the moment of
-- the first call, and nothing else.
CREATE FUNCTION erase_order(
  p_order_number text, p_actor text, p_address text, p_reason text
) RETURNS jsonb LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  o orders;
  reasons jsonb;
  ids text[];
  subjects text[];
BEGIN
  -- Other writers of the order wait, and then find it erased.
  SELECT * INTO o FROM orders WHERE order_number = p_order_number FOR UPDATE;
  IF NOT FOUND THEN
    RETURN '{"outcome": "unknown"}';
  END IF;
  -- No attempt begins meanwhile.
  PERFORM FROM order_events e JOIN webhook_deliveries d USING (event_id)
  WHERE e.order_number = p_order_number ORDER BY d.delivery_id FOR UPDATE OF d;
  SELECT jsonb_agg(r) INTO reasons FROM reasons_to_keep(o) r;
  IF o.erased_at IS NULL AND reasons IS NOT NULL THEN
    RETURN jsonb_build_object('outcome', 'refused', 'reasons', reasons);
  END IF;
  ids := ids_of_order(o);
  subjects := alert_subjects_of(o);

  UPDATE orders SET
    buyer_email = '', buyer_phone = '', buyer_name = '', description = '',
    idempotency_key = erased_key(merchant_id, idempotency_key), request_hash = '',
    cancel_reason = NULL, return_url = NULL, erased_at = service_now()
  WHERE order_number = p_order_number AND erased_at IS NULL;
  UPDATE disputes SET reason = NULL, evidence = NULL, resolution = NULL, decision_reason = NULL
  WHERE order_number = p_order_number;
  UPDATE order_steps SET details = (
    SELECT jsonb_object_agg(key, value) FROM jsonb_each(details)
    WHERE key IN ('gateway_payment_id', 'utr', 'recovered', 'by', 'for', 'seconds', 'until'))
  WHERE order_number = p_order_number AND jsonb_typeof(details) = 'object';
  -- The address is '' if there was one, else NULL.
  UPDATE order_commands SET body = '{}', reason = '', address = left(address, 0)
  WHERE order_number = p_order_number;
  UPDATE order_events SET body = '' WHERE order_number = p_order_number;
  UPDATE webhook_deliveries d SET is_erased = true FROM order_events e
  WHERE e.order_number = p_order_number AND d.event_id = e.event_id;
  UPDATE webhook_attempts a SET response_body = NULL
  FROM order_events e JOIN webhook_deliveries d USING (event_id)
  WHERE e.order_number = p_order_number AND a.delivery_id = d.delivery_id;
  -- A payment link and its code may contain the description.
  UPDATE payment_sessions SET upi_intent = NULL, page_url = NULL
  WHERE order_number = p_order_number;
  UPDATE payment_session_keys SET idempotency_key = erased_key(order_number, idempotency_key)
  WHERE order_number = p_order_number AND idempotency_key NOT LIKE 'erased %';
  DELETE FROM mails WHERE order_number = p_order_number AND sealed IS NOT NULL;
  UPDATE outside_settlements SET reason = '' WHERE order_number = p_order_number;
  UPDATE gateway_callbacks SET body = '' WHERE gateway = o.gateway AND named_ids && ids;
  UPDATE gateway_callbacks SET body = ''
  WHERE gateway = o.gateway AND event = 'not_understood'
    AND EXISTS (SELECT FROM unnest(ids) AS id WHERE strpos(body, id) > 0);
  -- The gateway's error text may contain personal data.
  UPDATE alerts SET details = details - 'error' WHERE subject = ANY (subjects);

  IF o.erased_at IS NOT NULL THEN
    RETURN '{"outcome": "erased_before"}';
  END IF;
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  VALUES (p_actor, p_address, 'order.erase', o.merchant_id, p_order_number,
    jsonb_build_object('reason', p_reason));
  RETURN '{"outcome": "erased"}';
END $$;
REVOKE EXECUTE ON FUNCTION erase_order(text, text, text, text) FROM PUBLIC;
