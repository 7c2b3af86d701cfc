-- A recorded step as its order's workflow knows it, with the payment if it made the order PAID.
CREATE FUNCTION known_step(o orders, p_step jsonb, p_command_id text) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('step', p_step, 'commandId', p_command_id,
    'payment', CASE p_step->>'kind' WHEN 'PAYMENT_SUCCESS' THEN
      jsonb_build_object('gateway', o.gateway, 'gatewayPaymentId', o.gateway_payment_id) END)
$$;

-- Writes the columns of an order that a step can change. That these are all is checked, too.
CREATE FUNCTION write_order(changed orders) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  written orders;
BEGIN
  UPDATE orders SET status = changed.status, pending_operation = changed.pending_operation,
    step_number = changed.step_number, dispute_count = changed.dispute_count,
    payment_link_expires_at = changed.payment_link_expires_at, completes_at = changed.completes_at,
    gateway_payment_id = changed.gateway_payment_id, payment_utr = changed.payment_utr, paid_at = changed.paid_at,
    open_session_id = changed.open_session_id, cancelled_by = changed.cancelled_by,
    cancel_reason = changed.cancel_reason, cancelled_at = changed.cancelled_at,
    refund_amount_paise = changed.refund_amount_paise, refund_reason = changed.refund_reason,
    refund_processed_at = changed.refund_processed_at, waiting_dispute_id = changed.waiting_dispute_id,
    waiting_dispute_received_at = changed.waiting_dispute_received_at, updated_at = changed.updated_at
  WHERE order_number = changed.order_number RETURNING * INTO written;
  IF written IS DISTINCT FROM changed THEN
    RAISE 'A step changes columns of an order that write_order does not write';
  END IF;
END $$;

-- The same of the order's latest dispute.
CREATE FUNCTION write_dispute_row(changed disputes) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  written disputes;
BEGIN
  UPDATE disputes SET respond_by = changed.respond_by, evidence = changed.evidence, evidence_at = changed.evidence_at,
    resolution = changed.resolution, decided_for = changed.decided_for, decided_by = changed.decided_by,
    decision_reason = changed.decision_reason, decided_at = changed.decided_at, ending = changed.ending,
    ended_at = changed.ended_at
  WHERE order_number = changed.order_number AND number = changed.number RETURNING * INTO written;
  IF written IS DISTINCT FROM changed THEN
    RAISE 'A step changes columns of a dispute that write_dispute_row does not write';
  END IF;
END $$;

-- What others may change of an order's money and session while a step with its webhook and mails is made. The caller
-- of record_step reads it first; record_step reads it again on the locked row, and compares.
CREATE FUNCTION beside_step(
  o orders,
  p_gateway text, p_gateway_payment_id text,  -- of the payment that makes the order PAID; no gateway for other steps
  p_movement text                             -- see record_step
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  is_paid boolean := false;
  utr text := o.payment_utr;
  is_owed boolean := false;
BEGIN
  IF p_gateway IS NOT NULL THEN
    SELECT true, p.utr INTO is_paid, utr FROM shared.payments p
    WHERE p.gateway = o.gateway AND p.gateway = p_gateway AND p.gateway_payment_id = p_gateway_payment_id
      AND p.order_number = o.order_number AND p.environment = o.environment
      AND pays_order(p.is_whole, p.amount_paise, o.amount_paise);
  END IF;
  IF p_movement IN ('release', 'refund') THEN
    is_owed := is_refund_owed(o.order_number, o.gateway, o.gateway_payment_id);
  END IF;
  RETURN jsonb_build_object('paysOrder', coalesce(is_paid, false), 'paymentUtr', utr,
    'reversedPaise', o.reversed_paise, 'isRefundOwed', is_owed, 'openSessionId', o.open_session_id,
    -- Only a step that cancels shows it.
    'surplus', CASE WHEN takes_payment(o.status) THEN (SELECT jsonb_build_object('refundAmountPaise', s.amount_paise,
      'refundReason', s.reason, 'refundProcessedAt', s.processed_at) FROM shown_surplus_of(o.order_number) s) END);
END $$;

-- Records one step of an order atomically, once for each step number. It locks the order's row first, so that every
-- condition is checked on current data and concurrent writers come before or after it. It writes the order's row
-- (write_order), its dispute, the end of its session (029) and of the command (015), the timeline with the webhook event and
-- its delivery (insert_step, 038), the ledger line (036) and the mails. Triggers number the event and count the order.
CREATE FUNCTION record_step(
  p_order_number text,
  p_step jsonb,        -- the whole step
  p_command_id text,   -- null when no command has caused it
  p_command_type text, -- see command_type_of
  p_requires text[],   -- the domain's Requirements
  p_answers jsonb,     -- for no_answer_waiting: see waiting_answer_of
  p_columns jsonb,     -- columns of orders that change
  p_dispute jsonb,     -- columns of the latest dispute that change; null when none does
  p_gateway text,      -- of the payment that makes the order PAID, whose id is in p_columns; null for other steps
  p_movement text,     -- capture, release or refund; null when no money moves
  p_seen jsonb,        -- what beside_step has returned to the caller; without the session, unless it chooses the step
  p_details jsonb,     -- for the timeline; null when there are none
  p_event jsonb,       -- see write_event; null when there is none
  p_mails jsonb        -- of each mail: mail_id, kind, sealed (base64); null when there is none
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  changed orders;
  beside jsonb;
  number CONSTANT integer := (p_step->>'number')::integer;
  kind CONSTANT text := p_step->>'kind';
  -- What asked for the step: see PendingOperation in src/domain/order.ts. Only p_command_id is written with it. A step
  -- beside the closing has the cancel's id in itself, too, and needs its own.
  asked_by CONSTANT text := coalesce(p_command_id,
    CASE WHEN kind = 'CLOSING_PAYMENT' THEN p_step#>>'{pendingOperation,commandId}' END);
  unmet jsonb;
  is_by_command boolean := false;
  endpoint jsonb;
BEGIN
  -- FOR NO KEY UPDATE, as in functions that need no order_commands, would not do: an answer that is being written has
  -- locked the order FOR KEY SHARE. This lock waits until it is committed, and then finds it.
  SELECT * INTO STRICT o FROM orders WHERE order_number = p_order_number FOR UPDATE;

  IF o.step_number >= number THEN
    -- An earlier attempt has written it. It may be another step: a workflow task can be lost after
    -- its local activity has written, and the next task may begin with something else.
    RETURN (SELECT jsonb_build_object('outcome', 'recorded', 'recorded', known_step(o, s.step, s.command_id))
      FROM order_steps s WHERE s.order_number = p_order_number AND s.step_number = number);
  END IF;
  -- The database was restored from a backup: the workflow writes the lost steps again.
  IF o.step_number < number - 1 THEN
    RETURN jsonb_build_object('outcome', 'row_behind', 'stepNumber', o.step_number);
  END IF;
  IF EXISTS (SELECT FROM order_steps
      WHERE order_number = p_order_number AND command_id = asked_by) THEN
    RETURN '{"outcome": "repeated"}';
  END IF;

  changed := jsonb_populate_record(o, p_columns);
  -- This step records the dispute that waits.
  IF p_command_id = o.waiting_dispute_id THEN
    changed.waiting_dispute_id := NULL;
    changed.waiting_dispute_received_at := NULL;
  END IF;
  beside := beside_step(o, p_gateway, changed.gateway_payment_id, p_movement);
  IF kind = 'PAYMENT_SUCCESS' AND NOT (beside->'paysOrder')::boolean THEN
    RETURN '{"outcome": "payment_not_captured"}';
  END IF;
  unmet := unmet_requirement(o, kind, asked_by, p_command_type, p_answers, p_requires);
  IF unmet IS NOT NULL THEN
    IF unmet->>'outcome' = 'release_waits' THEN
      UPDATE orders SET release_tried_for = completes_at
      WHERE order_number = p_order_number AND release_tried_for IS DISTINCT FROM completes_at;
    END IF;
    RETURN unmet;
  END IF;

  -- The caller reads again: webhook and mails would say something else, or another step is to be recorded.
  IF NOT beside @> p_seen THEN
    RETURN '{"outcome": "row_changed"}';
  END IF;
  PERFORM write_order(changed);
  IF kind = 'DISPUTE_RAISED' THEN
    INSERT INTO disputes SELECT * FROM jsonb_populate_record(NULL::disputes, p_dispute
      || jsonb_build_object('order_number', p_order_number, 'number', changed.dispute_count,
        'merchant_id', o.merchant_id, 'environment', o.environment));
  ELSIF p_dispute IS NOT NULL THEN
    PERFORM write_dispute_row(jsonb_populate_record(d, p_dispute)) FROM disputes d
    WHERE d.order_number = p_order_number AND d.number = changed.dispute_count;
  END IF;

  -- The order can no longer be paid, so its session ends, too; its QR code may still be open.
  IF o.open_session_id IS NOT NULL AND changed.open_session_id IS NULL THEN
    PERFORM end_open_session(o.open_session_id);
  END IF;
  IF kind = 'CLOCK_ADVANCED' THEN
    PERFORM advance_session(o.open_session_id, o.payment_link_expires_at - changed.payment_link_expires_at);
  END IF;

  -- The audit list shows the command, and a step only where no command has caused it.
  IF p_command_id IS NOT NULL THEN
    is_by_command := end_command(p_order_number, p_command_id, 'DONE');
  END IF;
  PERFORM insert_step(changed, p_step, p_event, p_command_id, p_details, NOT is_by_command);
  -- The dispute that waited is recorded, or the order can no longer take it.
  IF o.waiting_dispute_id IS NOT NULL AND changed.waiting_dispute_id IS NULL THEN
    DELETE FROM order_wakeups WHERE order_number = p_order_number AND cause = 'dispute';
  END IF;

  IF p_movement = 'capture' THEN
    PERFORM book_capture(p_order_number, time_of(p_step));
  ELSIF p_movement IS NOT NULL AND NOT (beside->'isRefundOwed')::boolean THEN
    -- What the gateway has moved was booked by book_movement, unless the database was restored since.
    PERFORM book_held(p_order_number, p_movement, time_of(p_step));
  END IF;

  IF p_event->>'attempt_token' IS NOT NULL THEN
    -- Read now, so that the attempt uses a URL or secret that was replaced meanwhile.
    SELECT jsonb_build_object('webhookUrl', webhook_url, 'webhookSecretSealed', webhook_secret_sealed,
      'databaseNow', clock_timestamp()) INTO endpoint
    FROM shared.merchant_environments WHERE merchant_id = o.merchant_id AND environment = o.environment;
  END IF;
  RETURN jsonb_build_object('outcome', 'recorded', 'endpoint', endpoint,
    'mails', CASE WHEN p_mails IS NOT NULL THEN write_order_mails(p_order_number, p_mails) END,
    'recorded', known_step(changed, p_step, p_command_id));
END $$;
