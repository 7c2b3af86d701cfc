-- Inserts a new order with its first step, unless the merchant has one with the same idempotency key.
CREATE FUNCTION create_order(
  p_order jsonb,    -- the columns of orders
  p_step jsonb,     -- see insert_step, like the next one
  p_event jsonb,
  p_request_id text,
  p_wake_after_ms bigint  -- after this time the sweep wakes the order, unless its workflow has begun
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  -- The oldest created_at of an inserted row. Lists count orders in blocks of creation time, so an order must not
  -- appear in a block that is already sealed.
  max_insert_delay CONSTANT interval := '10 seconds';
  o orders;
BEGIN
  INSERT INTO orders SELECT * FROM jsonb_populate_record(NULL::orders, p_order)
  WHERE created_at > service_now() - max_insert_delay
  ON CONFLICT (merchant_id, environment, idempotency_key) DO NOTHING
  RETURNING * INTO o;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM insert_step(o, p_step, p_event, p_request_id => p_request_id);
  INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
  VALUES (o.order_number, 'creation', '', o.created_at + p_wake_after_ms * interval '1 millisecond');
  RETURN true;
END $$;
