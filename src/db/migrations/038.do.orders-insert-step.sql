-- The time of a step, in whole milliseconds.
CREATE FUNCTION time_of(p_step jsonb) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT to_timestamp((p_step->>'atMs')::bigint / 1000.0)
$$;

-- Inserts a step of an order, and its webhook event with its delivery. No other statement inserts a step. The caller
-- has inserted or locked the order's row.
CREATE FUNCTION insert_step(
  o orders,         -- as it is after the step
  p_step jsonb,     -- the whole step
  p_event jsonb,    -- see write_event; null when there is none
  p_command_id text DEFAULT NULL,
  p_details jsonb DEFAULT NULL,  -- for the timeline
  p_in_audit_list boolean DEFAULT false,
  p_request_id text DEFAULT NULL -- that created the order
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  number CONSTANT integer := (p_step->>'number')::integer;
  at CONSTANT timestamptz := time_of(p_step);
BEGIN
  INSERT INTO order_steps
    (order_number, step_number, merchant_id, kind, at, status, step, command_id, details, in_audit_list, request_id)
  VALUES (o.order_number, number, o.merchant_id, p_step->>'kind', at, o.status, p_step, p_command_id,
    p_details, p_in_audit_list, p_request_id);
  IF p_event IS NOT NULL THEN
    PERFORM write_event(o.order_number, o.merchant_id, o.environment, number, at, p_event);
  END IF;
END $$;
