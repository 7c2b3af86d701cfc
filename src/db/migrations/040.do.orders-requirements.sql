-- The dispute that waits for the order's workflow; null if there is none.
CREATE FUNCTION waiting_dispute_of(o orders) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN o.waiting_dispute_id IS NOT NULL THEN jsonb_build_object(
    'commandId', o.waiting_dispute_id,
    'receivedAtMs', floor(extract(epoch FROM o.waiting_dispute_received_at) * 1000)) END
$$;

-- The merchant's answer to an order's open dispute, or an operator's decision of it, that was received in time and
-- waits for the order's workflow, the first one; null if there is none. p_answers has the commands that the domain's
-- lifecycle takes now, each with its requirements.
CREATE FUNCTION waiting_answer_of(o orders, p_answers jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('type', type, 'commandId', c.command_id)
  FROM disputes d JOIN order_commands c USING (order_number)
  CROSS JOIN LATERAL (SELECT CASE c.name WHEN 'decide' THEN 'decideFor' || initcap(c.body->>'for')
    ELSE c.name END) AS command (type)
  WHERE d.order_number = o.order_number AND d.number = o.dispute_count AND c.state = 'WAITING'
    AND c.received_at >= d.raised_at AND c.received_at < d.respond_by
    AND p_answers ? type
    AND NOT (p_answers->type ? 'no_chargeback_open' AND is_charged_back(o.gateway, o.gateway_payment_id))
  ORDER BY c.received_at, c.command_id LIMIT 1
$$;

-- The deadline of an order, which its latest step has; null without one.
CREATE FUNCTION deadline_of(o orders) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT to_timestamp((step#>>'{deadline,atMs}')::bigint / 1000.0) FROM order_steps
  WHERE order_number = o.order_number AND step_number = o.step_number
$$;

-- Whether an order's deadline passed more than 15 minutes ago and is handled only now, after an outage. A deadline that advance has moved was due when it was moved; a release that waits was handled.
CREATE FUNCTION is_deadline_late(o orders) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT (o.release_tried_for = o.completes_at) IS NOT TRUE AND service_now() > interval '15 minutes'
    + greatest(deadline_of(o),
      (SELECT max(at) FROM order_steps WHERE order_number = o.order_number AND kind = 'CLOCK_ADVANCED'))
$$;

-- True once an order's window is over and its release has not begun. VOLATILE like the clock, so that the planner
-- sees the status in the statements that call it.
CREATE FUNCTION is_release_due(o shared.orders) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT o.status = 'DELIVERED' AND o.pending_operation IS NULL AND o.completes_at <= service_now()
$$;

-- Why the release of an order cannot begin even after its window; null if it can.
CREATE FUNCTION release_blocked_by(o orders) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN NOT EXISTS (SELECT FROM shared.merchants
      WHERE merchant_id = o.merchant_id AND status = 'APPROVED') THEN 'merchant_not_active'
    WHEN is_reversed(o.gateway, o.gateway_payment_id) THEN 'reversed_at_gateway' END
$$;
