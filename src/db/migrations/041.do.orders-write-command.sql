-- What has become of a command. If its outcome is recorded, by this call or before, it has the other columns: see
-- RecordedCommand in src/orders/commands/command-queries.ts. Each other outcome says why it is not recorded.
CREATE TYPE written_command AS (
  outcome text, command_id text, try_number integer, received_at timestamptz, replayed boolean, mismatch boolean
);

-- Writes the row of a command and its line in order_wakeups, or finds the row of an equal one that was not refused.
-- Returns recorded, no_order (the owner has no such order) or moved_often.
CREATE FUNCTION write_command(
  p_order_number text,
  p_owner jsonb,    -- merchant_id and environment of the order; null if any order may be meant
  p_command jsonb,  -- columns of order_commands; operation and key instead of command_id: see command_id_of
  p_most_moves integer DEFAULT NULL,      -- see is_move
  p_wake_after_ms bigint DEFAULT NULL,    -- after this time the sweep wakes the order; null: it does not
  p_received_at timestamptz DEFAULT NULL  -- null: once the order is locked
) RETURNS written_command LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  c order_commands := jsonb_populate_record(NULL::order_commands, p_command);
  latest order_commands;
  written written_command;
  replayed boolean;
  has_step boolean;
BEGIN
  -- The commands of an order are written one after the other: so the second of two equal ones finds the first, and
  -- every move is counted.
  PERFORM pg_advisory_xact_lock(hashtextextended('command ' || p_order_number, 0));
  -- An erasure and a step lock the order FOR UPDATE: this waits for them, and they for this.
  SELECT * INTO o FROM orders WHERE order_number = p_order_number
    AND (p_owner IS NULL OR (merchant_id, environment::text) = (p_owner->>'merchant_id', p_owner->>'environment'))
  FOR KEY SHARE;
  IF NOT FOUND THEN
    written.outcome := 'no_order';
    RETURN written;
  END IF;
  c.command_id := coalesce(c.command_id, command_id_of(o.payment_token, p_command->>'operation', p_command->>'key'));
  SELECT * INTO latest FROM order_commands
  WHERE order_number = p_order_number AND command_id = c.command_id ORDER BY try_number DESC LIMIT 1;
  replayed := FOUND AND latest.state <> 'REFUSED';
  has_step := EXISTS (SELECT FROM order_steps WHERE order_number = p_order_number AND command_id = c.command_id);

  IF NOT replayed THEN
    IF is_move(c.name, c.actor) THEN
      IF p_most_moves <= (SELECT count(*) FROM order_commands
          WHERE order_number = p_order_number AND is_move(name, actor) AND state <> 'REFUSED') THEN
        written.outcome := 'moved_often';
        RETURN written;
      END IF;
    END IF;
    c.order_number := p_order_number;
    c.try_number := coalesce(latest.try_number + 1, 0);
    c.merchant_id := o.merchant_id;
    c.written_at := service_now();
    -- After the wait for the lock: a deadline that was handled meanwhile did not find the command.
    c.received_at := coalesce(p_received_at, c.written_at);
    -- The command of an erased order is refused, but its row is written first: without its texts.
    IF o.erased_at IS NOT NULL THEN
      c.body := '{}';
      c.reason := '';
      c.address := left(c.address, 0);
    END IF;
    -- A restored database had lost the row, and the workflow has recorded the step again.
    IF has_step THEN
      c.state := 'DONE';
    END IF;
    INSERT INTO order_commands VALUES (c.*);
    latest := c;
  END IF;
  -- Once the step is recorded, a repeat writes no line: an earlier one stays until the workflow has the step. Before, it
  -- renews the line, so that a sweep that has just woken the order for the first one does not remove it.
  IF p_wake_after_ms IS NOT NULL AND NOT has_step THEN
    INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
    VALUES (p_order_number, 'command', c.command_id, service_now() + p_wake_after_ms * interval '1 millisecond')
    ON CONFLICT (order_number, cause, cause_id) DO UPDATE SET due_at = excluded.due_at;
  END IF;
  written := ROW('recorded', latest.command_id, latest.try_number, latest.received_at, replayed,
    latest.body <> c.body AND o.erased_at IS NULL);
  RETURN written;
END $$;

-- Marks an order as disputed, writes the line of the dispute, and the dispute as a command. The row is locked, so it comes
-- before the release or a refund, or finds it. Whether it was received in the window the domain decides by its time.
-- Returns recorded; no_order; not_taken, if the order cannot take a dispute now; most or decided, see dispute_limit_of;
-- or most_today, see may_raise_dispute. One that has its step is a repeat, and recorded.
CREATE FUNCTION write_dispute(
  p_order_number text, p_owner jsonb, p_command jsonb,  -- as above
  p_statuses order_status[],  -- in which a dispute can be raised
  p_most integer,             -- see dispute_limit_of; null: no limit
  p_most_per_day integer,     -- see may_raise_dispute; null: no limit
  p_wake_after_ms bigint
) RETURNS written_command LANGUAGE plpgsql AS $$
DECLARE
  o orders;
  id text;
  written written_command;
  received_at timestamptz;
BEGIN
  SELECT * INTO o FROM orders WHERE order_number = p_order_number
    AND (p_owner IS NULL OR (merchant_id, environment::text) = (p_owner->>'merchant_id', p_owner->>'environment'))
  FOR NO KEY UPDATE;
  id := coalesce(p_command->>'command_id', command_id_of(o.payment_token, p_command->>'operation', p_command->>'key'));
  p_command := p_command || jsonb_build_object('command_id', id);
  IF NOT FOUND THEN
    written.outcome := 'no_order';
  ELSIF EXISTS (SELECT FROM order_steps WHERE order_number = p_order_number AND command_id = id) THEN
    written := write_command(p_order_number, NULL, p_command);
    -- Also if a restored database had lost the command's row.
    written.replayed := true;
  ELSIF o.pending_operation IS NOT NULL OR o.status <> ALL (p_statuses) THEN
    written.outcome := 'not_taken';
  ELSE
    -- One of the buyer has a limit, one of an operator another.
    written.outcome := CASE WHEN p_most IS NOT NULL THEN dispute_limit_of(p_order_number, p_most) END;
    IF written.outcome IS NULL AND p_most_per_day IS NOT NULL
        AND NOT may_raise_dispute(p_command->>'actor', p_most_per_day) THEN
      written.outcome := 'most_today';
    END IF;
  END IF;
  IF written.outcome IS NOT NULL THEN
    RETURN written;
  END IF;
  -- While the release cannot begin, the window does not end: the dispute is received in its last millisecond or before.
  received_at := CASE WHEN release_blocked_by(o) IS NULL THEN service_now()
    ELSE least(service_now(), o.completes_at - interval '1 millisecond') END;
  -- The first one waits, unless it was received after the window.
  IF (o.waiting_dispute_received_at < coalesce(o.completes_at, 'infinity')) IS NOT TRUE THEN
    UPDATE orders SET waiting_dispute_id = id, waiting_dispute_received_at = received_at
    WHERE order_number = p_order_number;
  END IF;
  INSERT INTO order_wakeups (order_number, cause, cause_id, due_at)
  VALUES (p_order_number, 'dispute', id, service_now() + p_wake_after_ms * interval '1 millisecond')
  ON CONFLICT DO NOTHING;
  RETURN write_command(p_order_number, NULL, p_command, NULL, p_wake_after_ms, received_at);
END $$;

-- Ends a command as refused: its order does not wait for it any more. Returns false if it was carried out meanwhile; its
-- line then stays, because the workflow may lack the step. A try after this one is a command of its own, and keeps all.
-- It locks the order first, like all that write no new command.
CREATE FUNCTION refuse_command(p_order_number text, p_command_id text, p_try_number integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM orders WHERE order_number = p_order_number FOR NO KEY UPDATE;
  IF EXISTS (SELECT FROM order_commands
      WHERE order_number = p_order_number AND command_id = p_command_id AND try_number > p_try_number) THEN
    RETURN true;
  ELSIF NOT end_command(p_order_number, p_command_id, 'REFUSED', p_try_number) THEN
    RETURN false;
  END IF;
  UPDATE orders SET waiting_dispute_id = NULL, waiting_dispute_received_at = NULL
  WHERE order_number = p_order_number AND waiting_dispute_id = p_command_id;
  DELETE FROM order_wakeups
  WHERE order_number = p_order_number AND cause IN ('command', 'dispute') AND cause_id = p_command_id;
  RETURN true;
END $$;
