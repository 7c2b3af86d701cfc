-- Each callback as received, written before it is processed.
CREATE TABLE gateway_callbacks (
  callback_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gateway text NOT NULL,
  environment environment NOT NULL,
  event_id text NOT NULL,
  event text NOT NULL,
  body text NOT NULL,
  -- The ids that it names, of the order, its sessions and its payments: erase_order finds the callbacks of an order by
  -- them.
  named_ids text[] NOT NULL DEFAULT '{}',
  received_at timestamptz NOT NULL DEFAULT service_now(),
  -- The captured payment that it reports, or of which it reports a reversal; null of other events.
  gateway_payment_id text,
  -- The order of a captured payment, if the service has it.
  order_number text,
  -- The gateway's API has not returned the payment yet, or not as the callback reports it. Until then its order
  -- offers no payment, and reconciliation asks the gateway: see unconfirmed_callbacks.
  is_unconfirmed boolean NOT NULL DEFAULT false CHECK (NOT is_unconfirmed OR gateway_payment_id IS NOT NULL),
  -- It reports a refund by others of a recorded payment, or that a refund by this service has failed. It is unconfirmed
  -- until the gateway was asked for the payment's refunds and they are recorded.
  reports_refund boolean NOT NULL DEFAULT false
);
CREATE VIEW shared.gateway_callbacks AS SELECT gateway, named_ids FROM gateway_callbacks;
CREATE INDEX gateway_callbacks_unconfirmed ON gateway_callbacks (gateway_payment_id) WHERE is_unconfirmed;
CREATE INDEX gateway_callbacks_unconfirmed_of_order ON gateway_callbacks (order_number) WHERE is_unconfirmed;
CREATE INDEX gateway_callbacks_by_named_ids ON gateway_callbacks USING gin (named_ids);
-- Callbacks of an unknown form are few, and are searched as text.
CREATE INDEX gateway_callbacks_not_understood ON gateway_callbacks (callback_id)
  WHERE event = 'not_understood';

-- The callbacks whose payment the gateway has not confirmed. It is asked for a week.
CREATE VIEW unconfirmed_callbacks AS
SELECT * FROM gateway_callbacks
WHERE is_unconfirmed AND NOT reports_refund AND received_at > (SELECT service_now()) - interval '7 days';

-- Stores a callback before it is processed, without its body if it is about an erased order. Nothing is to be done if
-- its payment is recorded as it reports it, or if its session is recorded as paid or is not of this service.
CREATE FUNCTION write_callback(
  p_gateway text, p_environment environment, p_event_id text, p_event text, p_body text, p_named_ids text[],
  p_reports jsonb,        -- null, or by its type: capture: gateway_payment_id, order_number,
                          -- gateway_session_id, status, refunded_paise, utr; refund: gateway_payment_id, by;
                          -- chargeback: gateway_payment_id; session_closed: gateway_session_id
  OUT is_news boolean,    -- false if nothing is to be done
  OUT order_number text,  -- of a captured payment; null if the service does not have its order
  OUT merchant_id text,
  OUT stored_at text      -- with its microseconds; the gateway is asked later
) LANGUAGE plpgsql AS $$
DECLARE
  report CONSTANT text := p_reports->>'type';
  reported_payment_id CONSTANT text := p_reports->>'gateway_payment_id';
  reported_session_id CONSTANT text := p_reports->>'gateway_session_id';
  payment payments;
  is_recorded boolean;
  is_unconfirmed boolean := false;
  reports_refund boolean := false;
  is_erased boolean;
BEGIN
  SELECT * INTO payment FROM payments p
  WHERE p.gateway = p_gateway AND p.gateway_payment_id = reported_payment_id;
  is_recorded := FOUND;
  is_news := true;
  IF report = 'capture' THEN
    SELECT o.order_number, o.merchant_id INTO order_number, merchant_id FROM shared.orders o
    WHERE o.order_number = order_of_payment(
      p_gateway, p_environment, p_reports->>'order_number', reported_session_id);
    is_unconfirmed := NOT (is_recorded AND payment.is_whole AND payment.gateway_status = p_reports->>'status'
      AND payment.refunded_paise = (p_reports->>'refunded_paise')::bigint
      AND (payment.utr IS NOT NULL OR p_reports->>'utr' IS NULL));
    is_news := is_unconfirmed;
  ELSIF report = 'refund' THEN
    -- A refund by others of a payment that is not recorded: the payment is recorded first.
    reports_refund := is_recorded OR p_reports->>'by' = 'this service';
    is_unconfirmed := true;
  ELSIF report = 'chargeback' THEN
    is_unconfirmed := NOT is_recorded;
  ELSIF report = 'session_closed' THEN
    is_news := EXISTS (SELECT FROM payment_sessions s WHERE s.gateway = p_gateway
      AND s.environment = p_environment AND s.gateway_session_id = reported_session_id AND s.state <> 'PAID');
  END IF;

  is_erased := EXISTS (SELECT FROM shared.orders o WHERE o.erased_at IS NOT NULL AND o.order_number IN (
    SELECT unnest(p_named_ids)
    UNION SELECT p.order_number FROM payments p
      WHERE p.gateway = p_gateway AND p.gateway_payment_id = ANY (p_named_ids)
    UNION SELECT s.order_number FROM payment_sessions s
      WHERE s.gateway = p_gateway AND s.gateway_session_id = ANY (p_named_ids)));
  INSERT INTO gateway_callbacks (gateway, environment, event_id, event, body, named_ids, gateway_payment_id, order_number,
    is_unconfirmed, reports_refund)
  VALUES (p_gateway, p_environment, p_event_id, p_event, CASE WHEN is_erased THEN '' ELSE p_body END, p_named_ids,
    reported_payment_id, order_number, is_unconfirmed, reports_refund)
  RETURNING received_at::text INTO stored_at;
END $$;

-- For how long a reported payment is left to the process that has received the report; then reconciliation continues.
CREATE FUNCTION left_to_its_process() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '30 seconds'
$$;

-- Ends the state unconfirmed of the callbacks that had reported a payment, or refunds of it, when the gateway was asked
-- for them. For one that came later, the gateway is asked again. Of a report of a refund only an answer counts that was
-- asked for left_to_its_process() later, because a list of refunds may lag. Reconciliation waits as long before it asks.
CREATE FUNCTION confirm_callbacks(p_gateway text, p_gateway_payment_id text, p_asked_at timestamptz,
  p_of_refunds boolean DEFAULT false) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway_callbacks SET is_unconfirmed = false
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id AND is_unconfirmed
    AND reports_refund = p_of_refunds
    AND received_at <= p_asked_at - CASE WHEN p_of_refunds THEN left_to_its_process() ELSE interval '0' END
$$;
