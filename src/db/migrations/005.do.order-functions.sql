-- The payment of the step that made an order PAID; null for any other step.
CREATE FUNCTION payment_of(s order_steps, o orders) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN s.kind = 'PAYMENT_SUCCESS' THEN
    jsonb_build_object('gateway', o.gateway, 'gatewayPaymentId', o.gateway_payment_id) END
$$;

-- The dispute that waits for the order's workflow; null if there is none.
CREATE FUNCTION waiting_dispute_of(o orders) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN o.waiting_dispute_id IS NOT NULL THEN jsonb_build_object(
    'commandId', o.waiting_dispute_id,
    'receivedAtMs', floor(extract(epoch FROM o.waiting_dispute_received_at) * 1000)) END
$$;

-- An order's step with this number, as record_step returns it.
CREATE FUNCTION find_step(p_order_number text, p_step_number integer) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('outcome', 'recorded', 'deliveryId', d.delivery_id,
    'recorded', jsonb_build_object('step', s.step, 'commandId', s.command_id,
      'payment', payment_of(s, o)))
  FROM order_steps s JOIN orders o USING (order_number)
  LEFT JOIN order_events e ON e.order_number = s.order_number AND e.step_number = s.step_number
  LEFT JOIN webhook_deliveries d ON d.event_id = e.event_id AND d.state = 'PENDING'
  WHERE s.order_number = p_order_number AND s.step_number = p_step_number
$$;

-- Whether an order's deadline, which its latest step has, passed more than 15 minutes ago and is handled only now,
-- after an outage. A deadline that advance has moved was due when it was moved; a release that waits was handled.
CREATE FUNCTION is_deadline_late(o orders) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT (o.release_tried_for = o.completes_at) IS NOT TRUE AND service_now() > interval '15 minutes'
    + greatest(
      (SELECT to_timestamp((step#>>'{deadline,atMs}')::bigint / 1000.0) FROM order_steps
        WHERE order_number = o.order_number AND step_number = o.step_number),
      (SELECT max(at) FROM order_steps
        WHERE order_number = o.order_number AND kind = 'CLOCK_ADVANCED'))
$$;

-- Creates write_row for a table: a function that writes a changed row, whichever of its columns changed.
-- It names every column, so a migration that adds one calls this again. An UPDATE that EXECUTE made for
-- the changed columns of each step would be planned for each step: measured, a fifth of record_step.
CREATE FUNCTION create_row_writer(p_table regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  statement text;
BEGIN
  SELECT format('UPDATE %s SET %s WHERE %s', p_table, string_agg(assignment, ', '),
    string_agg(assignment, ' AND ') FILTER (WHERE attnum = ANY (indkey)))
  INTO statement
  FROM pg_attribute JOIN pg_index ON indrelid = attrelid AND indisprimary,
    format('%1$I = changed.%1$I', attname) AS assignment
  WHERE attrelid = p_table AND attnum > 0 AND NOT attisdropped;
  EXECUTE format('CREATE OR REPLACE FUNCTION write_row(changed %s) RETURNS void LANGUAGE sql AS %L',
    p_table, statement);
END $$;
SELECT create_row_writer('orders');
SELECT create_row_writer('disputes');

-- True while a chargeback of an order's payment is undecided.
CREATE FUNCTION is_charged_back(o orders) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM gateway_reversals r
    WHERE r.gateway = o.gateway AND r.gateway_payment_id = o.gateway_payment_id
      AND r.kind = 'chargeback' AND r.state = 'open')
$$;

-- The merchant's answer to an order's open dispute that was received in time and waits for the order's
-- workflow, the first one; null if there is none. p_answers has the commands that the domain's lifecycle takes now,
-- each with its requirements.
CREATE FUNCTION waiting_answer_of(o orders, p_answers jsonb) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('name', c.name, 'commandId', c.command_id)
  FROM disputes d JOIN order_commands c USING (order_number)
  WHERE d.order_number = o.order_number AND d.number = o.dispute_count AND c.state = 'WAITING'
    AND c.received_at >= d.raised_at AND c.received_at < d.respond_by
    AND p_answers ? c.name
    AND NOT (p_answers->c.name ? 'no_chargeback_open' AND is_charged_back(o))
  ORDER BY c.received_at, c.command_id LIMIT 1
$$;

-- The id of a client's command: the same for a repeat with the same Idempotency-Key. Temporal stores it, and a key may
-- contain personal data, such as a buyer's address. So it is a hash with the order's payment token, which Temporal never
-- receives: who has the id cannot find the key by trying. p_operation tells commands of different routes apart.
CREATE FUNCTION command_id_of(p_payment_token text, p_operation text, p_key text) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT 'cmd_' || encode(sha256(convert_to(
    p_payment_token || ':' || p_operation || ':' || p_key, 'UTF8')), 'hex')
$$;

-- Writes the outcome of a command that waits. The service's login may change nothing else of a command, so
-- this runs with the privileges of the table's owner. Returns whether the command has ended so, now or before.
CREATE FUNCTION end_command(
  p_order_number text, p_command_id text, p_state command_state,
  p_try_number integer DEFAULT NULL -- null: the latest, the only one that can wait
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE order_commands SET state = p_state
  WHERE order_number = p_order_number AND command_id = p_command_id
    AND try_number = coalesce(p_try_number, try_number) AND state = 'WAITING';
  RETURN FOUND OR EXISTS (SELECT FROM order_commands
    WHERE order_number = p_order_number AND command_id = p_command_id
      AND try_number = coalesce(p_try_number, try_number) AND state = p_state);
END $$;
REVOKE EXECUTE ON FUNCTION end_command(text, text, command_state, integer) FROM PUBLIC;

-- Whether a sandbox order may be moved once more by `advance` or `fail-payment`: fewer than p_most times so far. Each
-- is a step, which the workflow and the timeline keep. The lock lasts until the statement that writes the command has
-- committed, as in may_raise_dispute. A failed payment that the gateway reports is not counted.
CREATE FUNCTION may_move(p_order_number text, p_most integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('move ' || p_order_number, 0));
  RETURN p_most > (SELECT count(*) FROM order_commands
    WHERE order_number = p_order_number AND name IN ('advance', 'failPayment') AND actor <> 'gateway'
      AND state <> 'REFUSED');
END $$;

-- Inserts a step of an order, and its webhook event with its delivery. No other statement inserts a step. The caller
-- has inserted or locked the order's row.
CREATE FUNCTION insert_step(
  o orders,         -- as it is after the step
  p_step jsonb,     -- number, kind, at, whole
  p_command jsonb,  -- command_id, details, is_line, request_id
  p_event jsonb     -- event_id, sequence, type, body, delivery_id, wake_after_ms, and attempt_token with lease_ms if the
                    -- caller makes the first attempt; null when there is none
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  number CONSTANT integer := (p_step->>'number')::integer;
  at CONSTANT timestamptz := (p_step->>'at')::timestamptz;
BEGIN
  INSERT INTO order_steps
    (order_number, step_number, merchant_id, kind, at, status, step, command_id, details, is_line, request_id)
  VALUES (o.order_number, number, o.merchant_id, p_step->>'kind', at, o.status, p_step->'whole',
    p_command->>'command_id', nullif(p_command->'details', 'null'), (p_command->>'is_line')::boolean,
    p_command->>'request_id');
  IF p_event IS NULL THEN
    RETURN;
  END IF;
  INSERT INTO order_events (event_id, order_number, sequence, step_number, type, at, body)
  VALUES (p_event->>'event_id', o.order_number, (p_event->>'sequence')::integer, number,
    p_event->>'type', at, p_event->>'body');
  IF p_event->>'delivery_id' IS NOT NULL THEN
    INSERT INTO webhook_deliveries
      (delivery_id, event_id, merchant_id, environment, event_type, next_attempt_at, wake_at,
        attempt_token, attempt_until)
    VALUES (p_event->>'delivery_id', p_event->>'event_id', o.merchant_id, o.environment,
      p_event->>'type', at,
      service_now() + (p_event->>'wake_after_ms')::bigint * interval '1 millisecond',
      p_event->>'attempt_token',
      service_now() + (p_event->>'lease_ms')::bigint * interval '1 millisecond');
  END IF;
END $$;

-- Inserts a new order with its first step, unless the merchant has one with the same idempotency key.
CREATE FUNCTION create_order(
  p_order jsonb,    -- the columns of orders
  p_step jsonb,     -- see insert_step, like the next two
  p_command jsonb,
  p_event jsonb,
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
  PERFORM insert_step(o, p_step, p_command, p_event);
  INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
  VALUES (o.order_number, 'creation', '', o.created_at + p_wake_after_ms * interval '1 millisecond');
  RETURN true;
END $$;

-- Records one step of an order atomically, once for each step number: the row, the timeline, the
-- webhook event with its delivery, and the ledger line. It locks the order's row first, so that
-- every condition is checked on current data and concurrent writers come before or after it. For
-- the parameters see src/orders/steps/record-step.ts.
--
-- A query stands inside of the IF that decides whether it is needed. In the same condition it would be
-- planned for each call, because with that call's values its plan often reads nothing and so costs the least.
CREATE FUNCTION record_step(
  p_order_number text,
  p_step jsonb,        -- number, kind, at, whole, and for no_answer_waiting the answers
  p_columns jsonb,     -- columns of orders that change
  p_dispute jsonb,     -- columns of the latest dispute that change; null when none does
  p_command jsonb,     -- command_id, details
  p_event jsonb,       -- see insert_step; null when there is none
  p_ledger jsonb,      -- operation, debit, credit; null when no money moves
  p_mails jsonb,       -- of each mail: mail_id, kind, sealed (base64); null when there is none
  p_requires text[]    -- no_session_open, and the domain's Requirements
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  changed orders;
  number integer := (p_step->>'number')::integer;
  paise bigint;
  wait jsonb;
  answer jsonb;
  is_by_command boolean := false;
  endpoint jsonb;
  at timestamptz := (p_step->>'at')::timestamptz;
BEGIN
  IF NOT p_requires <@ ARRAY['no_session_open', 'deadline_on_time', 'no_dispute_waiting', 'no_answer_waiting',
      'settlement_recorded', 'release_allowed', 'payment_not_gone', 'no_chargeback_open', 'command_recorded'] THEN
    RAISE 'record_step does not know every requirement of %', p_requires;
  END IF;
  SELECT * INTO STRICT o FROM orders WHERE order_number = p_order_number FOR UPDATE;

  IF o.step_number >= number THEN
    -- An earlier attempt has written it. It may be another step: a workflow task can be lost after
    -- its local activity has written, and the next task may begin with something else.
    RETURN find_step(p_order_number, number);
  END IF;
  IF 'settlement_recorded' = ANY (p_requires) THEN
    IF NOT EXISTS (SELECT FROM outside_settlements WHERE order_number = p_order_number AND outcome
        = CASE p_step->>'kind' WHEN 'ORDER_COMPLETED' THEN 'released' ELSE 'refunded' END) THEN
      RETURN '{"outcome": "not_settled"}';
    END IF;
  END IF;
  -- The database was restored from a backup: the workflow writes the lost steps again.
  IF o.step_number < number - 1 THEN
    RETURN jsonb_build_object('outcome', 'row_behind', 'stepNumber', o.step_number);
  END IF;
  IF EXISTS (SELECT FROM order_steps
      WHERE order_number = p_order_number AND command_id = p_command->>'command_id') THEN
    RETURN '{"outcome": "repeated"}';
  END IF;

  -- Only a whole capture of this order, at its own gateway, is a payment: see payments.is_whole.
  IF p_step->>'kind' = 'PAYMENT_SUCCESS' THEN
    IF NOT EXISTS (SELECT FROM payments p
        WHERE p.gateway = o.gateway AND p.gateway = p_columns->>'gateway'
          AND p.gateway_payment_id = p_columns->>'gateway_payment_id' AND p.is_whole
          AND p.order_number = p_order_number
          AND p.environment = o.environment AND p.amount_paise = o.amount_paise) THEN
      RETURN '{"outcome": "payment_not_captured"}';
    END IF;
  END IF;
  IF 'payment_not_gone' = ANY (p_requires) AND o.reversed_paise >= o.amount_paise THEN
    RETURN '{"outcome": "payment_gone"}';
  END IF;
  IF 'no_chargeback_open' = ANY (p_requires) AND is_charged_back(o) THEN
    RETURN '{"outcome": "chargeback_open"}';
  END IF;
  -- An order that is not delivered has no window: any waiting dispute counts.
  IF 'no_dispute_waiting' = ANY (p_requires)
      AND o.waiting_dispute_received_at < coalesce(o.completes_at, 'infinity') THEN
    RETURN jsonb_build_object('outcome', 'disputed', 'dispute', waiting_dispute_of(o));
  END IF;
  IF 'no_answer_waiting' = ANY (p_requires) THEN
    answer := waiting_answer_of(o, p_step->'answers');
    IF answer IS NOT NULL THEN
      RETURN jsonb_build_object('outcome', 'answered', 'answer', answer);
    END IF;
  END IF;
  IF 'deadline_on_time' = ANY (p_requires) AND is_deadline_late(o) THEN
    RETURN '{"outcome": "deadline_late"}';
  END IF;
  IF 'command_recorded' = ANY (p_requires) THEN
    IF NOT EXISTS (SELECT FROM order_commands r
        WHERE r.order_number = p_order_number AND r.command_id = p_command->>'command_id'
          AND r.state <> 'REFUSED') THEN
      RETURN '{"outcome": "command_not_recorded"}';
    END IF;
  END IF;
  -- After the command's row was found: the step that closes the session does not look for it again.
  IF 'no_session_open' = ANY (p_requires) AND o.open_session_id IS NOT NULL THEN
    RETURN '{"outcome": "session_open"}';
  END IF;
  IF 'release_allowed' = ANY (p_requires) THEN
    wait := CASE
      -- This clock decides when the window is over, because it also dates the disputes.
      WHEN service_now() < o.completes_at THEN '{"outcome": "too_early"}'
      ELSE (SELECT jsonb_build_object('outcome', 'release_waits', 'cause', cause)
        FROM release_blocked_by(o) AS cause WHERE cause IS NOT NULL)
    END;
    IF wait IS NOT NULL THEN
      UPDATE orders SET release_tried_for = completes_at
      WHERE order_number = p_order_number AND release_tried_for IS DISTINCT FROM completes_at;
      RETURN wait;
    END IF;
  END IF;

  changed := jsonb_populate_record(o, p_columns);
  IF p_step->>'kind' = 'PAYMENT_SUCCESS' THEN
    -- Read again under the lock: the gateway may have reported it since.
    SELECT utr INTO changed.payment_utr FROM payments
    WHERE gateway = o.gateway AND gateway_payment_id = changed.gateway_payment_id;
  END IF;
  IF p_step->>'kind' = 'ORDER_CANCELLED' THEN
    -- Read again under the lock: a surplus refund may have begun or ended since.
    SELECT s.amount_paise, s.reason, s.processed_at
    INTO changed.refund_amount_paise, changed.refund_reason, changed.refund_processed_at
    FROM surplus_refunds s WHERE s.order_number = p_order_number
    ORDER BY s.started_at, s.gateway_payment_id LIMIT 1;
  END IF;
  PERFORM write_row(changed);
  IF p_step->>'kind' = 'DISPUTE_RAISED' THEN
    INSERT INTO disputes SELECT * FROM jsonb_populate_record(NULL::disputes, p_dispute
      || jsonb_build_object('order_number', p_order_number, 'number', changed.dispute_count,
        'merchant_id', o.merchant_id, 'environment', o.environment));
  ELSIF p_dispute IS NOT NULL THEN
    PERFORM write_row(jsonb_populate_record(d, p_dispute)) FROM disputes d
    WHERE d.order_number = p_order_number AND d.number = changed.dispute_count;
  END IF;

  -- The order can no longer be paid, so its session ends, too; its QR code may still be open.
  IF o.open_session_id IS NOT NULL AND changed.open_session_id IS NULL THEN
    UPDATE payment_sessions SET ended_at = service_now(), next_check_at = service_now()
    WHERE session_id = o.open_session_id AND state IN ('OPENING', 'OPEN') AND ended_at IS NULL;
  END IF;
  IF p_step->>'kind' = 'CLOCK_ADVANCED' THEN
    UPDATE payment_sessions
    SET expires_at = expires_at - (o.payment_link_expires_at - changed.payment_link_expires_at),
      next_check_at = next_check_at - (o.payment_link_expires_at - changed.payment_link_expires_at)
    WHERE session_id = o.open_session_id;
  END IF;

  IF p_command->>'command_id' IS NOT NULL THEN
    is_by_command := end_command(p_order_number, p_command->>'command_id', 'DONE');
  END IF;
  PERFORM insert_step(changed, p_step, p_command || jsonb_build_object('is_line', NOT is_by_command), p_event);
  -- The dispute that waited is recorded, or the order can no longer take it.
  IF o.waiting_dispute_id IS NOT NULL AND changed.waiting_dispute_id IS NULL THEN
    DELETE FROM order_wakeups WHERE order_number = p_order_number AND cause = 'dispute';
  END IF;

  IF p_ledger IS NOT NULL THEN
    -- Reversals may have reduced the captured amount.
    paise := CASE p_ledger->>'debit' WHEN 'merchant_held'
      THEN balance_of(o.gateway, changed.gateway_payment_id, 'merchant_held')
      ELSE o.amount_paise END;
    INSERT INTO ledger_transfers (gateway, gateway_payment_id, operation, order_number,
      merchant_id, environment, debit_account, credit_account, amount_paise, at, movement_id)
    SELECT o.gateway, changed.gateway_payment_id, p_ledger->>'operation', p_order_number,
      o.merchant_id, o.environment, (p_ledger->>'debit')::ledger_account,
      (p_ledger->>'credit')::ledger_account, paise, at,
      -- What an operator has settled was moved by something else.
      CASE WHEN p_ledger->>'debit' = 'merchant_held' AND 'settlement_recorded' <> ALL (p_requires)
        THEN movement_of(o.gateway, changed.gateway_payment_id, p_ledger->>'operation') END
    WHERE paise > 0;
  END IF;

  IF p_event->>'attempt_token' IS NOT NULL THEN
    -- Read under the lock, so that the attempt uses a URL or secret that was replaced meanwhile.
    SELECT jsonb_build_object('webhookUrl', webhook_url, 'webhookSecretSealed', webhook_secret_sealed,
      'databaseNow', clock_timestamp()) INTO endpoint
    FROM merchant_environments WHERE merchant_id = o.merchant_id AND environment = o.environment;
  END IF;
  RETURN jsonb_build_object('outcome', 'recorded', 'deliveryId', p_event->>'delivery_id',
    'endpoint', endpoint,
    'mails', CASE WHEN p_mails IS NOT NULL THEN write_order_mails(p_order_number, p_mails) END,
    'recorded', jsonb_build_object('step', p_step->'whole', 'commandId', p_command->>'command_id',
      'payment', CASE WHEN p_step->>'kind' = 'PAYMENT_SUCCESS' THEN jsonb_build_object(
        'gateway', o.gateway, 'gatewayPaymentId', changed.gateway_payment_id) END));
END $$;

CREATE FUNCTION status_number(status order_status) RETURNS integer LANGUAGE sql IMMUTABLE
AS 'SELECT array_position(enum_range(NULL::order_status), status)';

-- Counts a merchant's orders that were created before a time, by status. The blocks until then have their
-- counts; only the orders after the last of them are counted one by one.
CREATE FUNCTION count_orders_before(
  p_merchant_id text, p_environment environment, p_before timestamptz
) RETURNS TABLE (status order_status, orders bigint) LANGUAGE sql STABLE AS $$
  WITH blocks AS MATERIALIZED (
    SELECT ends_at, by_status FROM order_blocks
    WHERE merchant_id = p_merchant_id AND environment = p_environment AND ends_at <= p_before
  )
  SELECT every.status,
    (SELECT coalesce(sum(by_status[every.number]), 0) FROM blocks)
    + (SELECT count(*) FROM orders o
      WHERE o.merchant_id = p_merchant_id AND o.environment = p_environment
        AND o.status = every.status AND o.created_at < p_before
        AND o.created_at >= coalesce((SELECT max(ends_at) FROM blocks), '-infinity'))
  FROM unnest(enum_range(NULL::order_status)) WITH ORDINALITY AS every (status, number)
$$;

-- Puts the oldest orders that are in no block into a new block, once there are enough of them.
-- Returns false if there is nothing to do, or another process is doing it.
CREATE FUNCTION seal_order_block(
  p_merchant_id text, p_environment environment, p_orders integer
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  begins_at timestamptz;
  new_ends_at timestamptz;
BEGIN
  IF NOT pg_try_advisory_xact_lock(
      hashtextextended(format('order blocks %s %s', p_merchant_id, p_environment), 0)) THEN
    RETURN false;
  END IF;
  SELECT coalesce(max(ends_at), '-infinity') INTO begins_at FROM order_blocks
  WHERE merchant_id = p_merchant_id AND environment = p_environment;

  -- Only orders that are a minute old: an order that is being inserted now is not among them.
  SELECT created_at + interval '1 microsecond' INTO new_ends_at FROM orders
  WHERE merchant_id = p_merchant_id AND environment = p_environment
    AND created_at >= begins_at AND created_at < service_now() - interval '1 minute'
  ORDER BY created_at, order_number OFFSET p_orders - 1 LIMIT 1;
  IF NOT FOUND OR EXISTS (
      SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND backend_xid IS NOT NULL
        AND xact_start < now() - interval '1 minute') THEN
    RETURN false;
  END IF;

  -- Waits for transactions that are changing one of them, whose changes the next statement sees;
  -- later transactions see the block.
  PERFORM FROM orders
  WHERE merchant_id = p_merchant_id AND environment = p_environment
    AND created_at >= begins_at AND created_at < new_ends_at
  FOR SHARE;
  INSERT INTO order_blocks
  SELECT p_merchant_id, p_environment, new_ends_at, sum(orders), array_agg(orders ORDER BY status)
  FROM (
    SELECT every.status, count(order_number) AS orders
    FROM unnest(enum_range(NULL::order_status)) AS every (status)
    LEFT JOIN orders ON orders.status = every.status
      AND merchant_id = p_merchant_id AND environment = p_environment
      AND created_at >= begins_at AND created_at < new_ends_at
    GROUP BY every.status
  ) AS counted;
  RETURN true;
END $$;
