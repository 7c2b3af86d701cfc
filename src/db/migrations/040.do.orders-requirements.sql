-- The dispute that waits for the order's workflow; null if there is none.
CREATE FUNCTION waiting_dispute_of(o orders) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN o.waiting_dispute_id IS NOT NULL THEN jsonb_build_object(
    'commandId', o.waiting_dispute_id,
    'receivedAtMs', floor(extract(epoch FROM o.waiting_dispute_received_at) * 1000)) END
$$;

-- When the latest dispute of an order was received: an answer that was received earlier is not about it. A restore may have
-- lost its row; the step has the time of the workflow's clock, and may have been recorded again.
CREATE FUNCTION disputed_at(p_order_number text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT least(c.received_at, time_of(s.step), s.recorded_at)
  FROM order_steps s LEFT JOIN order_commands c USING (order_number, command_id)
  WHERE s.order_number = p_order_number AND s.kind = 'DISPUTE_RAISED'
  ORDER BY s.step_number DESC, c.try_number DESC LIMIT 1
$$;

-- The merchant's answer to an order's open dispute, or an operator's decision of it, that was received in time and
-- waits for the order's workflow, the first one; null if there is none. p_answers has the commands that the domain's
-- lifecycle takes now, each with its requirements.
CREATE FUNCTION waiting_answer_of(o orders, p_answers jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('type', type, 'commandId', c.command_id)
  FROM disputes d JOIN order_commands c USING (order_number) CROSS JOIN LATERAL command_type_of(c) AS type
  WHERE d.order_number = o.order_number AND d.number = o.dispute_count AND c.state = 'WAITING'
    AND c.received_at >= disputed_at(o.order_number) AND c.received_at < d.respond_by
    AND p_answers ? type
    AND NOT (p_answers->type ? 'no_chargeback_open' AND is_charged_back(o.gateway, o.gateway_payment_id))
  ORDER BY c.received_at, c.command_id LIMIT 1
$$;

-- The deadline of an order, which its latest step has; null without one.
CREATE FUNCTION deadline_of(o orders) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT to_timestamp((step#>>'{deadline,atMs}')::bigint / 1000.0) FROM order_steps
  WHERE order_number = o.order_number AND step_number = o.step_number
$$;

-- Whether an order's deadline passed more than 15 minutes ago and is handled only now, after an outage. A deadline
-- that advance has moved was due when it was moved; a release that waits was handled.
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

-- The outcome of record_step if its order, whose row is locked, does not meet a requirement of the step; null if it
-- meets all.
-- A query stands inside of the IF that decides whether it is needed. In the same condition it would be
-- planned for each call, because with that call's values its plan often reads nothing and so costs the least.
CREATE FUNCTION unmet_requirement(
  o orders, p_kind text, p_command_id text,
  p_command_type text,  -- see command_type_of
  p_answers jsonb,      -- see waiting_answer_of
  p_requires text[]
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  answer jsonb;
  cause text;
  command order_commands;
BEGIN
  IF NOT p_requires <@ ARRAY['deadline_passed', 'deadline_on_time', 'no_dispute_waiting', 'no_answer_waiting',
      'settlement_recorded', 'release_allowed', 'payment_not_gone', 'no_chargeback_open', 'command_recorded',
      'answers_dispute'] THEN
    RAISE 'Not every requirement of % is known', p_requires;
  END IF;
  IF 'settlement_recorded' = ANY (p_requires) THEN
    IF NOT EXISTS (SELECT FROM shared.outside_settlements WHERE order_number = o.order_number AND outcome
        = CASE p_kind WHEN 'ORDER_COMPLETED' THEN 'released' ELSE 'refunded' END) THEN
      RETURN '{"outcome": "not_settled"}';
    END IF;
  END IF;
  IF 'payment_not_gone' = ANY (p_requires) AND o.reversed_paise >= o.amount_paise THEN
    RETURN '{"outcome": "payment_gone"}';
  END IF;
  IF 'no_chargeback_open' = ANY (p_requires) AND is_charged_back(o.gateway, o.gateway_payment_id) THEN
    RETURN '{"outcome": "chargeback_open"}';
  END IF;
  -- An order that is not delivered has no window: any waiting dispute counts.
  IF 'no_dispute_waiting' = ANY (p_requires)
      AND o.waiting_dispute_received_at < coalesce(o.completes_at, 'infinity')
      -- A dispute that was refused does not count: an equal request that died may have marked the order with it again.
      AND is_recorded(o.order_number, o.waiting_dispute_id) THEN
    RETURN jsonb_build_object('outcome', 'disputed', 'dispute', waiting_dispute_of(o));
  END IF;
  IF 'no_answer_waiting' = ANY (p_requires) THEN
    answer := waiting_answer_of(o, p_answers);
    IF answer IS NOT NULL THEN
      RETURN jsonb_build_object('outcome', 'answered', 'answer', answer);
    END IF;
  END IF;
  -- This clock decides when a deadline has passed, because it also dates what must be received before it.
  IF 'deadline_passed' = ANY (p_requires) AND service_now() < deadline_of(o) THEN
    RETURN '{"outcome": "too_early"}';
  END IF;
  IF 'deadline_on_time' = ANY (p_requires) AND is_deadline_late(o) THEN
    RETURN '{"outcome": "deadline_late"}';
  END IF;
  IF 'command_recorded' = ANY (p_requires) THEN
    SELECT * INTO command FROM order_commands
    WHERE order_number = o.order_number AND command_id = p_command_id AND state = 'WAITING';
    -- Another command's row does not say who asks for this one.
    IF (command_type_of(command) = p_command_type) IS NOT TRUE THEN
      RETURN '{"outcome": "command_not_recorded"}';
    END IF;
  END IF;
  -- Only together with command_recorded, which has read the command.
  IF 'answers_dispute' = ANY (p_requires) THEN
    IF command.received_at < disputed_at(o.order_number) THEN
      RETURN '{"outcome": "earlier_dispute"}';
    END IF;
  END IF;
  IF 'release_allowed' = ANY (p_requires) THEN
    cause := release_blocked_by(o);
    IF cause IS NOT NULL THEN
      RETURN jsonb_build_object('outcome', 'release_waits', 'cause', cause);
    END IF;
  END IF;
  RETURN NULL;
END $$;
