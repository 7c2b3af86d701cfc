-- The refund of a capture that its order cannot take: once for each gateway payment.
CREATE TABLE surplus_refunds (
  gateway text NOT NULL,
  gateway_payment_id text NOT NULL,
  order_number text NOT NULL REFERENCES orders,
  amount_paise bigint NOT NULL,
  reason text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT service_now(),
  -- Also null while a failed refund is repeated.
  processed_at timestamptz,
  -- The amount that an operator recorded as refunded outside the gateway; null if none did.
  settled_paise bigint CHECK (settled_paise >= 0),
  -- The reference of the bank transfer; null if there was none.
  reference text,
  PRIMARY KEY (gateway, gateway_payment_id),
  FOREIGN KEY (gateway, gateway_payment_id) REFERENCES payments
);
CREATE VIEW shared.surplus_refunds AS SELECT gateway, gateway_payment_id, order_number, amount_paise, reason,
  started_at, processed_at, settled_paise, reference FROM surplus_refunds;
CREATE INDEX surplus_refunds_by_order ON surplus_refunds (order_number);
CREATE INDEX surplus_refunds_by_reference ON surplus_refunds (reference)
  WHERE reference IS NOT NULL;
-- Surplus captures whose refund has not been made.
CREATE INDEX surplus_refunds_pending ON surplus_refunds (started_at) WHERE processed_at IS NULL;

-- The refund that a CANCELLED order shows: that of its earliest surplus capture.
CREATE FUNCTION shown_surplus_of(p_order_number text) RETURNS SETOF surplus_refunds LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM surplus_refunds WHERE order_number = p_order_number ORDER BY started_at, gateway_payment_id LIMIT 1
$$;

-- The rule by which a capture pays its order: it is whole (see payments), and of the order's amount.
CREATE FUNCTION pays_order(is_whole boolean, amount_paise bigint, order_amount_paise bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$ SELECT is_whole AND amount_paise = order_amount_paise $$;

-- Why an order of this status cannot take a whole capture; null if it can.
CREATE FUNCTION surplus_reason(status order_status, is_its_amount boolean) RETURNS text
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN NOT is_its_amount THEN 'wrong_amount' WHEN status = 'CANCELLED' THEN 'late_payment'
    WHEN NOT takes_payment(status) THEN 'already_paid' END
$$;

-- What reversals at the gateway have taken from the accounts of a payment. VOLATILE, like balance_of.
CREATE FUNCTION reversed_of(p_gateway text, p_gateway_payment_id text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(sum(booked_paise), 0)::bigint FROM gateway_reversals
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id
$$;
