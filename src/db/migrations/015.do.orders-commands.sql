-- A command of a client or an operator, written before the workflow receives it: so nothing
-- personal enters Temporal, and a repeat of the command is recognised. The row is the command's line in the
-- audit list. Only write_command inserts rows, and the service's login may change none; end_command writes the outcome, and
-- erase_order empties body, reason and address.
CREATE TYPE command_state AS ENUM ('WAITING', 'DONE', 'REFUSED');
CREATE TABLE order_commands (
  order_number text NOT NULL REFERENCES orders,
  command_id text NOT NULL,
  -- How often a command with this id was refused before. A repeat of a refused command is a new one, so
  -- only the latest can have another state than REFUSED.
  try_number integer NOT NULL DEFAULT 0,
  -- The name of the message to the order's workflow.
  name text NOT NULL,
  -- DONE once its step is recorded, or at once if its order does not need to be told.
  state command_state NOT NULL DEFAULT 'WAITING',
  body jsonb NOT NULL,
  -- Who gave it: key: and an API key, merchant: or operator: and the e-mail address of a user, cli: and a login
  -- name, buyer (the holder of the payment token), or gateway for a failed payment.
  actor text NOT NULL,
  reason text NOT NULL,
  -- The client's IP address and request; null on the command line.
  address text,
  request_id text,
  -- The order's, for the indexes.
  merchant_id text NOT NULL REFERENCES merchants,
  written_at timestamptz NOT NULL DEFAULT service_now(),
  -- When it counts as received: see write_command, and for a dispute write_dispute.
  received_at timestamptz NOT NULL,
  PRIMARY KEY (order_number, command_id, try_number)
);
CREATE VIEW shared.order_commands AS SELECT order_number, command_id, try_number, name, state, body, actor, reason,
  address, request_id, merchant_id, written_at FROM order_commands;
-- Every filter of the audit list has an index in the order of the list; an order has few commands.
CREATE INDEX order_commands_by_time ON order_commands (written_at);
CREATE INDEX order_commands_by_merchant ON order_commands (merchant_id, written_at);
CREATE INDEX order_commands_by_actor ON order_commands (actor, written_at);
CREATE INDEX order_commands_by_name ON order_commands (name, written_at);
CREATE INDEX order_commands_by_request ON order_commands (request_id) WHERE request_id IS NOT NULL;

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

-- Whether a command is recorded, and not refused.
CREATE FUNCTION is_recorded(p_order_number text, p_command_id text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM order_commands
    WHERE order_number = p_order_number AND command_id = p_command_id AND state <> 'REFUSED')
$$;

-- What a command is called in the domain's lifecycle.
CREATE FUNCTION command_type_of(c order_commands) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE c.name WHEN 'decide' THEN 'decideFor' || initcap(c.body->>'for') ELSE c.name END
$$;

-- The id of a client's command: the same for a repeat with the same Idempotency-Key. Temporal stores it, and a key may
-- contain personal data, such as a buyer's address. So it is a hash with the order's payment token, which Temporal never
-- receives: who has the id cannot find the key by trying. p_operation tells commands of different routes apart.
CREATE FUNCTION command_id_of(p_payment_token text, p_operation text, p_key text) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT 'cmd_' || encode(sha256(convert_to(
    p_payment_token || ':' || p_operation || ':' || p_key, 'UTF8')), 'hex')
$$;

-- Whether a command moves a sandbox order. Each move is a step, which the workflow and the timeline keep, so an order
-- takes only so many: see write_command. A failed payment that the gateway reports is not one.
CREATE FUNCTION is_move(p_name text, p_actor text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT p_name IN ('advance', 'failPayment') AND p_actor <> 'gateway'
$$;

-- Whether an actor may raise another dispute: fewer than p_most in the last 24 hours. The lock lasts until
-- the statement that writes the dispute has committed, so that concurrent ones are counted. PL/pgSQL reads what
-- was committed before each of its own queries.
CREATE FUNCTION may_raise_dispute(p_actor text, p_most integer) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('dispute ' || p_actor, 0));
  RETURN p_most > (SELECT count(*) FROM order_commands
    WHERE actor = p_actor AND name = 'dispute' AND state <> 'REFUSED'
      AND written_at > service_now() - interval '24 hours');
END $$;
