-- Acts that need two operators: one proposes, another one approves. See docs/adr/0018. The service's login reads
-- this table and changes it only through the functions below, which run with the privileges of the table's owner.
CREATE TYPE proposal_status AS ENUM ('open', 'approved', 'rejected', 'withdrawn', 'expired');

CREATE TABLE proposals (
  proposal_id text PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN (
    'merchant.linkedAccount', 'merchant.approve', 'merchant.activate', 'order.settle', 'order.refund',
    'dispute.decide', 'operator.create', 'operator.role', 'operator.reactivate', 'operator.reset',
    'operator.disable')),
  -- The subject: an order with its merchant, a merchant, or the address of an operator.
  order_number text REFERENCES orders,
  merchant_id text REFERENCES merchants,
  operator_email text,
  subject text NOT NULL GENERATED ALWAYS AS (coalesce(order_number, merchant_id, operator_email)) STORED,
  -- What will be done, and what was true when it was proposed; each kind has its own fields.
  parameters jsonb NOT NULL,
  before jsonb NOT NULL,
  reason text NOT NULL,
  proposed_by text NOT NULL REFERENCES users,
  proposed_at timestamptz NOT NULL DEFAULT service_now(),
  expires_at timestamptz NOT NULL,
  -- An expired proposal stays open until another one is proposed.
  status proposal_status NOT NULL DEFAULT 'open',
  decided_by text REFERENCES users,
  decided_at timestamptz,
  carried_out_at timestamptz,
  -- For an approved proposal, once it is carried out: done, or why it could not be.
  outcome text,
  -- When those who may approve it were warned of the order's deadline.
  warned_at timestamptz,
  CHECK (num_nonnulls(merchant_id, operator_email) = 1),
  CHECK (status <> 'approved' OR (decided_by IS NOT NULL AND decided_by <> proposed_by)),
  CHECK ((decided_at IS NULL) = (status = 'open')),
  CHECK (carried_out_at IS NULL OR (status = 'approved' AND outcome IS NOT NULL))
);
CREATE UNIQUE INDEX proposals_one_open ON proposals (kind, subject) WHERE status = 'open';
CREATE INDEX proposals_to_carry_out ON proposals (decided_at) WHERE status = 'approved' AND outcome IS NULL;
CREATE INDEX proposals_by_order ON proposals (order_number) WHERE order_number IS NOT NULL;

-- The reason of an order's proposal is that of its command: it is erased with the order.
CREATE FUNCTION erase_proposals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE proposals SET reason = '' WHERE order_number = NEW.order_number;
  -- The gateway's own words.
  UPDATE alerts SET details = details - 'error'
  WHERE subject IN (SELECT proposal_id FROM proposals WHERE order_number = NEW.order_number);
  RETURN NULL;
END $$;
CREATE TRIGGER erase_proposals AFTER UPDATE OF erased_at ON orders
FOR EACH ROW WHEN (NEW.erased_at IS NOT NULL) EXECUTE FUNCTION erase_proposals();

-- A refusal has this code; the message is a sentence for the operator.
CREATE FUNCTION refuse_act(p_message text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'PR001', MESSAGE = p_message;
END $$;

-- Whether an operator has one of these roles now. A change of the role waits until the caller's statement has ended.
CREATE FUNCTION may_act(p_user_id text, p_roles text[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM shared.users WHERE user_id = p_user_id AND disabled_at IS NULL AND totp_confirmed_at IS NOT NULL
    AND operator_role::text = ANY (p_roles) FOR SHARE;
  RETURN FOUND;
END $$;

CREATE FUNCTION audit_proposal(p proposals, p_action text, p_actor jsonb) RETURNS void LANGUAGE sql AS $$
  INSERT INTO audit_log (actor, address, action, merchant_id, subject, details)
  VALUES (p_actor->>'name', p_actor->>'address', p_action, p.merchant_id, p.subject,
    jsonb_build_object('proposalId', p.proposal_id, 'kind', p.kind)
      -- The reason of an order's proposal is personal.
      || CASE WHEN p.order_number IS NULL THEN jsonb_build_object('reason', p.reason) ELSE '{}' END)
$$;

CREATE FUNCTION open_proposal(
  p_new jsonb,      -- columns of proposals
  p_valid_ms bigint,
  p_roles text[],   -- that may propose it
  p_actor jsonb     -- name, address
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  p proposals;
BEGIN
  IF NOT may_act(p_new->>'proposed_by', p_roles) THEN
    PERFORM refuse_act('Your role does not allow this');
  END IF;
  UPDATE proposals SET status = 'expired', decided_at = service_now()
  WHERE kind = p_new->>'kind' AND status = 'open' AND expires_at <= service_now()
    AND subject = coalesce(p_new->>'order_number', p_new->>'merchant_id', p_new->>'operator_email');
  INSERT INTO proposals (proposal_id, kind, order_number, merchant_id, operator_email, parameters, before, reason,
    proposed_by, expires_at)
  VALUES (p_new->>'proposal_id', p_new->>'kind', p_new->>'order_number', p_new->>'merchant_id',
    p_new->>'operator_email', p_new->'parameters', p_new->'before', p_new->>'reason', p_new->>'proposed_by',
    service_now() + p_valid_ms * interval '1 millisecond')
  RETURNING * INTO p;
  PERFORM audit_proposal(p, 'proposal.open', p_actor);
END $$;

-- Approves a proposal, once. It is carried out afterwards: by the caller, or by the sweep.
CREATE FUNCTION approve_proposal(
  p_proposal_id text, p_user_id text,
  p_roles text[],   -- that may approve it
  p_actor jsonb     -- name, address
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  p proposals;
BEGIN
  SELECT * INTO STRICT p FROM proposals WHERE proposal_id = p_proposal_id FOR UPDATE;
  -- In the order of assert_admin_remains, because may_act locks them one by one.
  PERFORM FROM shared.users WHERE user_id IN (p_user_id, p.proposed_by) ORDER BY user_id FOR SHARE;
  IF p.status <> 'open' THEN
    PERFORM refuse_act('The proposal is ' || p.status || ' already');
  ELSIF p.expires_at <= service_now() THEN
    PERFORM refuse_act('The proposal has expired: propose it again');
  ELSIF p.proposed_by = p_user_id THEN
    PERFORM refuse_act('Another operator has to approve what you have proposed');
  ELSIF NOT may_act(p_user_id, p_roles) THEN
    PERFORM refuse_act('Your role does not allow this');
  ELSIF NOT may_act(p.proposed_by, p_roles) THEN
    PERFORM refuse_act('The operator who proposed it may no longer do this: reject it');
  END IF;
  UPDATE proposals SET status = 'approved', decided_by = p_user_id, decided_at = service_now()
  WHERE proposal_id = p_proposal_id;
  PERFORM audit_proposal(p, 'proposal.approve', p_actor);
END $$;

-- Rejects a proposal, or withdraws one's own.
CREATE FUNCTION close_proposal(
  p_proposal_id text, p_user_id text,
  p_status proposal_status, -- rejected or withdrawn
  p_roles text[], p_actor jsonb
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  p proposals;
BEGIN
  SELECT * INTO STRICT p FROM proposals WHERE proposal_id = p_proposal_id FOR UPDATE;
  IF p.status <> 'open' THEN
    PERFORM refuse_act('The proposal is ' || p.status || ' already');
  ELSIF p_status = 'rejected' AND p.proposed_by = p_user_id THEN
    PERFORM refuse_act('You have proposed it: withdraw it instead');
  ELSIF p_status = 'rejected' AND NOT may_act(p_user_id, p_roles) THEN
    PERFORM refuse_act('Your role does not allow this');
  ELSIF p_status = 'withdrawn' AND p.proposed_by <> p_user_id THEN
    PERFORM refuse_act('Only the operator who proposed it can withdraw it');
  ELSIF p_status NOT IN ('rejected', 'withdrawn') THEN
    RAISE EXCEPTION 'A proposal is rejected or withdrawn';
  END IF;
  UPDATE proposals SET status = p_status, decided_by = p_user_id, decided_at = service_now()
  WHERE proposal_id = p_proposal_id;
  PERFORM audit_proposal(p, CASE p_status WHEN 'rejected' THEN 'proposal.reject' ELSE 'proposal.withdraw' END, p_actor);
END $$;

-- Records that an approved proposal is carried out, in the statement of what it does, so that this happens once; or
-- why it cannot be.
CREATE FUNCTION finish_proposal(p_proposal_id text, p_outcome text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  UPDATE proposals SET outcome = p_outcome, carried_out_at = CASE WHEN p_outcome = 'done' THEN service_now() END
  WHERE proposal_id = p_proposal_id AND status = 'approved' AND outcome IS NULL;
  IF NOT FOUND THEN
    PERFORM refuse_act('The proposal is carried out already');
  END IF;
END $$;

CREATE FUNCTION mark_proposal_warned(p_proposal_id text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE proposals SET warned_at = coalesce(warned_at, service_now()) WHERE proposal_id = p_proposal_id
$$;

REVOKE EXECUTE ON FUNCTION open_proposal(jsonb, bigint, text[], jsonb),
  approve_proposal(text, text, text[], jsonb), close_proposal(text, text, proposal_status, text[], jsonb),
  finish_proposal(text, text), mark_proposal_warned(text) FROM PUBLIC;
