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
  -- It reports a refund of a recorded payment, by others, or by this service if it has failed: unconfirmed until the
  -- gateway was asked for the refunds of the payment, and they are recorded.
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

-- For how long a reported payment is left to the process that has received the report; then reconciliation continues.
CREATE FUNCTION left_to_its_process() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '30 seconds'
$$;

-- Ends the state unconfirmed of the callbacks that had reported a payment, or refunds of it, when the gateway was asked
-- for them. For one that came later, the gateway is asked again.
CREATE FUNCTION confirm_callbacks(p_gateway text, p_gateway_payment_id text, p_asked_at timestamptz,
  p_of_refunds boolean DEFAULT false) RETURNS void LANGUAGE sql AS $$
  UPDATE gateway_callbacks SET is_unconfirmed = false
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id AND is_unconfirmed
    AND reports_refund = p_of_refunds AND received_at <= p_asked_at
$$;
