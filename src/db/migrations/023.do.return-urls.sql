-- Where the buyer's pages lead back to, as the merchant gave it; it may name the buyer.
ALTER TABLE orders ADD COLUMN return_url text;
ALTER TABLE orders DROP CONSTRAINT erased_order_has_no_personal_data;
ALTER TABLE orders ADD CONSTRAINT erased_order_has_no_personal_data CHECK (erased_at IS NULL OR (
  (buyer_email, buyer_phone, buyer_name, description) = ('', '', '', '')
  AND num_nonnulls(cancel_reason, return_url) = 0));

SELECT create_row_writer('orders');
DROP VIEW orders_with_dispute;
CREATE VIEW orders_with_dispute AS
SELECT o.*, d.reason AS dispute_reason, d.raised_at AS dispute_raised_at,
  d.respond_by AS dispute_respond_by, d.evidence AS dispute_evidence,
  d.resolution AS dispute_resolution, d.decided_for AS dispute_decided_for,
  d.decision_reason AS dispute_decision_reason, d.decided_at AS dispute_decided_at,
  d.ended_at AS dispute_ended_at
FROM orders o
LEFT JOIN disputes d ON d.order_number = o.order_number AND d.number = o.dispute_count;

-- As before, with the return URL.
CREATE OR REPLACE FUNCTION erase_order(
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
    WHERE key IN ('gateway_payment_id', 'utr', 'recovered', 'by', 'for', 'seconds'))
  WHERE order_number = p_order_number AND jsonb_typeof(details) = 'object';
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
  UPDATE outside_settlements SET reason = '' WHERE order_number = p_order_number;
  UPDATE gateway_callbacks SET body = '' WHERE gateway = o.gateway AND named_ids && ids;
  UPDATE gateway_callbacks SET body = ''
  WHERE gateway = o.gateway AND event = 'not_understood'
    AND EXISTS (SELECT FROM unnest(ids) AS id WHERE strpos(body, id) > 0);
  -- The gateway's own words.
  UPDATE alerts SET details = details - 'error' WHERE subject = ANY (subjects);

  IF o.erased_at IS NOT NULL THEN
    RETURN '{"outcome": "erased_before"}';
  END IF;
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  VALUES (p_actor, p_address, 'order.erase', o.merchant_id, p_order_number,
    jsonb_build_object('reason', p_reason));
  RETURN '{"outcome": "erased"}';
END $$;
