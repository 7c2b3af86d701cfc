-- An operator's record of where an order's money is: moved outside the gateway after the gateway
-- refused, or moved at the gateway without this service.
CREATE TABLE outside_settlements (
  order_number text PRIMARY KEY REFERENCES orders,
  -- Decides the order's final status and its event.
  outcome text NOT NULL CHECK (outcome IN ('released', 'refunded')),
  -- What the payment had left, which counts as moved by the settlement.
  amount_paise bigint NOT NULL CHECK (amount_paise >= 0),
  -- The reference of the bank transfer; null if there was none.
  reference text,
  reason text NOT NULL,
  actor text NOT NULL,
  at timestamptz NOT NULL DEFAULT service_now(),
  -- When the refunds and transfers at the gateway were compared with it; null if the gateway could not
  -- be read and the operator confirmed that.
  checked_at timestamptz
);
CREATE VIEW shared.outside_settlements AS SELECT order_number, outcome, reference, reason, actor
FROM outside_settlements;
-- A reference belongs to one order; see also is_reference_taken.
CREATE UNIQUE INDEX outside_settlements_by_reference ON outside_settlements (reference)
  WHERE reference IS NOT NULL;

-- How an operator has settled an order, as its workflow is told; null if none has.
CREATE FUNCTION settlement_of(p_order_number text) RETURNS jsonb LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('commandId', 'settle:' || order_number, 'outcome', outcome)
  FROM outside_settlements WHERE order_number = p_order_number
$$;

-- True if an operator has settled an order. A restore may have lost the settlement, whose step is written again.
CREATE FUNCTION is_settled(p_order_number text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT settlement_of(p_order_number) IS NOT NULL OR EXISTS (SELECT FROM shared.order_steps s
    WHERE s.order_number = p_order_number AND s.command_id = 'settle:' || p_order_number)
$$;

-- True if an operator can settle an order with this outcome: its money is moving, some of it was reversed at the
-- gateway, or its refund has failed. Not once the gateway has moved it and only the step is missing. p_phases: the
-- statuses and pending operations in which the domain's lifecycle takes such a settlement.
CREATE FUNCTION can_settle(o shared.orders, p_outcome text, p_phases text[]) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT (p_outcome = 'refunded' AND has_failed_refund(o.status, o.refund_processed_at))
    OR (coalesce(o.pending_operation->>'kind', o.status::text) = ANY (p_phases)
      AND (o.pending_operation IS NOT NULL OR is_reversed(o.gateway, o.gateway_payment_id))
      AND CASE last_movement_of(o.gateway, o.gateway_payment_id) WHEN 'release' THEN false WHEN 'refund' THEN false
        WHEN 'refund_failed' THEN p_outcome = 'refunded' ELSE true END)
$$;

-- What the database has of a payment's money for a settlement outside: what is left of it, and what its
-- reversals have taken or may take.
CREATE FUNCTION settlement_figures(
  p_gateway text, p_gateway_payment_id text,
  OUT rest_paise bigint, OUT refunded_paise bigint, OUT charged_back_paise bigint
) LANGUAGE sql STABLE AS $$
  SELECT balance_of(p_gateway, p_gateway_payment_id, 'merchant_held')
      + balance_of(p_gateway, p_gateway_payment_id, 'surplus'),
    coalesce(sum(amount_paise) FILTER (WHERE kind = 'refund'), 0)::bigint,
    coalesce(sum(amount_paise) FILTER (WHERE kind = 'chargeback'), 0)::bigint
  FROM gateway_reversals
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id AND blocks_release
$$;

-- True if the figures differ from those that a settlement was checked with.
CREATE FUNCTION figures_changed(
  p_gateway text, p_gateway_payment_id text, p_checked jsonb
) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT NOT p_checked @> to_jsonb(f) FROM settlement_figures(p_gateway, p_gateway_payment_id) f
$$;

-- True if a settlement of another order has the reference. Settlements with the same reference are
-- recorded one after the other, so that the second one finds the first.
CREATE FUNCTION is_reference_taken(p_reference text, p_order_number text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  IF p_reference IS NULL THEN
    RETURN false;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('settlement ' || p_reference, 0));
  RETURN EXISTS (
    SELECT FROM outside_settlements
    WHERE reference = p_reference AND order_number <> p_order_number
    UNION ALL SELECT FROM surplus_refunds
    WHERE reference = p_reference AND order_number <> p_order_number);
END $$;

-- What an operator has said of a settlement outside.
CREATE FUNCTION settlement_facts(p_settlement jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_strip_nulls(jsonb_build_object(
    'outcome', p_settlement->'outcome', 'reference', p_settlement->'reference',
    'reason', p_settlement->'reason', 'gateway',
    CASE WHEN NOT (p_settlement->>'is_checked')::boolean THEN 'not checked' END))
$$;

-- Records how an operator has settled an order. The caller holds the money lease of its payment, and has compared
-- the figures with the gateway's. Like every writer it locks the order first.
--
-- Returns recorded, settled (an earlier settlement is recorded), refused, changed or reference_taken.
CREATE FUNCTION write_settlement(
  p_order_number text,
  p_settlement jsonb,  -- outcome, reference, reason, is_checked, and the figures of settlement_figures
  p_actor jsonb,       -- name, address, request_id
  p_phases text[]      -- as in can_settle
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
BEGIN
  SELECT * INTO STRICT o FROM shared.orders WHERE order_number = p_order_number FOR NO KEY UPDATE;
  IF EXISTS (SELECT FROM outside_settlements WHERE order_number = p_order_number) THEN
    RETURN 'settled';
  ELSIF NOT can_settle(o, p_settlement->>'outcome', p_phases) THEN
    RETURN 'refused';
  ELSIF figures_changed(o.gateway, o.gateway_payment_id, p_settlement) THEN
    RETURN 'changed';
  ELSIF is_reference_taken(p_settlement->>'reference', p_order_number) THEN
    RETURN 'reference_taken';
  END IF;
  INSERT INTO outside_settlements
    (order_number, outcome, amount_paise, reference, reason, actor, checked_at)
  VALUES (p_order_number, p_settlement->>'outcome', (p_settlement->>'rest_paise')::bigint,
    p_settlement->>'reference', p_settlement->>'reason', p_actor->>'name',
    CASE WHEN (p_settlement->>'is_checked')::boolean THEN service_now() END);
  -- The command is done with its record: the order may find that before it gets the message.
  PERFORM FROM write_command(p_order_number, NULL, jsonb_build_object(
    'command_id', 'settle:' || p_order_number, 'name', 'settle', 'state', 'DONE',
    'body', settlement_facts(p_settlement), 'actor', p_actor->'name', 'reason', p_settlement->'reason',
    'address', p_actor->'address', 'request_id', p_actor->'request_id'), p_wake_after_ms => 0);
  RETURN 'recorded';
END $$;

-- Records that an operator has refunded a surplus capture outside the gateway, in the same way, once. Returns refunded
-- if the gateway has refunded it.
CREATE FUNCTION write_surplus_settlement(
  p_gateway text, p_gateway_payment_id text,
  p_settlement jsonb,  -- as above
  p_actor jsonb        -- name, address
) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  o shared.orders;
  capture surplus_refunds;
BEGIN
  o := lock_order_of(p_gateway, p_gateway_payment_id);
  SELECT * INTO STRICT capture FROM surplus_refunds
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id;
  IF capture.settled_paise IS NOT NULL THEN
    RETURN 'settled';
  ELSIF capture.processed_at IS NOT NULL THEN
    RETURN 'refunded';
  ELSIF figures_changed(p_gateway, p_gateway_payment_id, p_settlement) THEN
    RETURN 'changed';
  ELSIF is_reference_taken(p_settlement->>'reference', o.order_number) THEN
    RETURN 'reference_taken';
  END IF;
  UPDATE surplus_refunds
  SET settled_paise = (p_settlement->>'rest_paise')::bigint, reference = p_settlement->>'reference'
  WHERE gateway = p_gateway AND gateway_payment_id = p_gateway_payment_id;
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  VALUES (p_actor->>'name', p_actor->>'address', 'surplus.settle', o.merchant_id,
    gateway_subject(p_gateway, p_gateway_payment_id),
    settlement_facts(p_settlement) || jsonb_build_object('orderNumber', o.order_number));
  RETURN 'recorded';
END $$;
